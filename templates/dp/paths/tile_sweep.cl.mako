<%page args="equation='', reads='', elements='', held=None, rounded=False, record='', cell='int', vector=0, offsets=((-1, -1), (-1, 0), (0, -1)), flip_rows=False, flip_columns=False, table=True, last=False, bits=0, single=False, flush=0, variant='group', wg_size=64, items_per_thread=1, block_rows=4, block_columns=4, steps=64"/>\
<%
    up, left = (max([1, *(-offset[axis] for offset in offsets)]) for axis in (0, 1))
    itemsizes = {"int": 4, "float": 4, "long": 8, "ulong": 8, "double": 8}
    vector = vector or min(block_columns, 4)
    # elements that the cells of a row share, those of a column, and how many of the latter one load takes
    rows, shared = ({q: type for q, (kind, type) in enumerate(held or ()) if kind == one} for one in ("row", "column"))
    each = {q: min(block_columns, 16 // itemsizes.get(type, 16)) for q, type in shared.items()}
%>\
// tile_sweep: slanted tiles of a table whose cells read only near cells above and to the left.
//
//   strip = WG_SIZE * ROWS rows; item t has ROWS of them and computes a block of ROWS x COLUMNS cells in each step
//
//   item 0   | . . |s=5|s=6|s=7|s=8| . .       at step s item t computes block s - t: all items are busy, and the item
//   item 1   | . |s=5|s=6|s=7|s=8| . . .       above has passed on the row above that block one step before
//   item 2   |s=5|s=6|s=7|s=8| . . . . .       a tile is STEPS steps of a strip; its cells never leave the registers,
//                                              only its lower edge and the items' left columns are passed to other tiles
//
% if single:
// One launch: a group takes the next strip by a ticket, and keeps the left columns. It waits until the strip above is
// `lag` tiles ahead (dp/dp_tickets.h). If a group gives up, the table is not valid, and the last word of `progress` is
// set.
% else:
// Tile (I, J) is computed by launch J + lag * I, when the lower edge of strip I - 1 is complete that far; left columns are
// stored in `state`.
% endif
// Rows and columns are counted in the order of filling; flip_rows and flip_columns convert them to the table's.
// Work: one evaluation for each cell; memory: the kept cells, and edges of at most 1 / ROWS + 1 / COLUMNS of a table.
#define DP_ROUNDED_DIVIDE ${int(rounded)}
#include "portable.h"
${record}
#include "dp/dp_near.h"
% if equation:
${reads}
${equation}
${elements}
% else:
#include "dp/dp_sample_near.h"
% endif
#define HELD ${int(held is not None)}   // elements of parameters are held for the cells that share them
#define WG_SIZE ${wg_size}
#define ROWS ${block_rows}
#define COLUMNS ${block_columns}
#define STEPS ${steps}
#define UP ${up}         // rows above a block that its cells read
#define LEFT ${left}       // columns to the left
#define FLIP_ROWS ${int(flip_rows)}
#define FLIP_COLUMNS ${int(flip_columns)}
#define VECTOR ${vector}
#define TABLE ${int(table)}
#define BITS ${bits}
#define FLUSH ${flush}
#define SINGLE ${int(single)}
typedef ${cell}${vector if vector > 1 else ''} cells_t;
#include "dp/dp_overflow.h"
#include "dp/dp_tile.h"
#include "dp/dp_tile_choices.h"
#include "dp/dp_tile_steps.h"
#include "dp/dp_tile_group.h"
#include "dp/dp_tile_flush.h"
#if SINGLE
#include "dp/dp_tickets.h"
#endif
<%def name="row_elements()">\
% for q, type in rows.items():
        HOLD_ROWS(${type}, held${q}, dp_load${q});
% endfor
</%def>\
<%def name="block(inner)">\
            {
            const int at = base + step - lid, column = at * COLUMNS;
            take_upper(w, passed, above, step, lid);
## all elements are read ahead, so that computing blocks outside of the table is safe
            ${"if (at >= 0 && at < blocks && row < bottom) " if not inner and held is None else ""}{
% for q, type in shared.items():
% for k in range(block_columns // each[q]):
                const ${type}${each[q]} columns${q}_${k} = columns${q}[(step - lid + SHIFT) * ${block_columns // each[q]} + ${k}];
% endfor
                const ${type} held${q}[] = {${", ".join(f"columns{q}_{c // each[q]}.s{c % each[q]}" for c in range(block_columns))}};
% endfor
                NO_CHOICES;
                NO_OVERFLOWS;
                ${f"FILL_BLOCK({int(inner)}, true)" if inner or held is not None else "FILL_INSIDE"}
                NOTE_OVERFLOWS;
% if last and not inner:
                if (begin + STRIP >= n && at >= 0 && at < blocks)
                    store_last_row(last_row, w, row, column, n);
% endif
% if table:
                ${"stage_block(stage, w, step, lid)" if flush else f"store_block(table, pitch, w, row, column, bottom, n, m, {str(inner).lower()})"};
% endif
% if bits and flush:
                stage_choices(won_stage, won, step, lid);
% elif bits:
                store_choices(decisions, decision_pitch, won, row, at, top, ${"row + ROWS" if inner else "at >= 0 && at < blocks ? bottom : 0"});
% endif
                keep_lower(lower_rows, w);
                next_block(w, ${"at < 0" if not inner and held is not None else "false"});
            }
            pass_lower(passed, below, lower_rows, step, lid);
            barrier(CLK_LOCAL_MEM_FENCE);
            }
</%def>\

// Rows top .. bottom - 1; the edge above them is in slot `entry`. The last row is stored in whole blocks, in the order of
// filling.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void tile_sweep(const int n, const int m, const int launch, const int first, const int lag, const int strips, const int top,
                const int bottom, const int entry, const int every, const int edge_pitch,
                global cell_t *${"" if single else "restrict"} edges,
                ${"volatile global int *progress, const int patience" if single else "global cell_t *restrict state"}
                ${", global cell_t *restrict table, const int pitch" if table else ""}
                ${", global cell_t *restrict last_row" if last else ""}
                ${", global packed_t *restrict decisions, const int decision_pitch" if bits else ""} DP_KERNEL_PARAMETERS)
{
    const int lid = get_local_id(0), blocks = (m + COLUMNS - 1) / COLUMNS;
    local cells_t passed[2][PARTS][WG_SIZE], above[STEPS * PARTS], below[STEPS * PARTS];
% if flush and table:
    local cells_t stage[WG_SIZE * STAGE];
% endif
% if flush and bits:
    local packed_t won_stage[WG_SIZE * WON];
% endif
% for q, type in shared.items():
    local ${type}${each[q]} columns${q}[WIDTH / ${each[q]}];   // elements that the cells of a column share
% endfor
    value_t w[UP + ROWS][WIDE];             // the block, the rows above it, the columns to its left
    value_t lower_rows[UP][COLUMNS];        // of the block before, for the item below
% if single:
    local int ticket, given_up;
    if (lid == 0)
        given_up = 0;
    const int strip = take_ticket(progress, &ticket), tiles = (blocks + SHIFT + STEPS - 1) / STEPS;
    load_carried(w, lower_rows, edges, true);
    const int begin = top + strip * STRIP, row = begin + lid * ROWS;
${row_elements()}\
    bool gone = false;   // the same for all items
    for (int tile_column = 0; tile_column < tiles && !gone; ++tile_column) {
% else:
    const int tile_row = first + (int)get_group_id(0), tile_column = launch - lag * tile_row;
    for (int strip = tile_row * strips; strip < (tile_row + 1) * strips && top + strip * STRIP < bottom; ++strip) {
        global cell_t *mine = state + (size_t)strip * STATE * WG_SIZE + lid;
        load_carried(w, lower_rows, mine, tile_column == 0);
        const int begin = top + strip * STRIP, row = begin + lid * ROWS;
${row_elements()}\
% endif
        const int base = tile_column * STEPS;
        EDGE *upper = edges + (size_t)(strip ? slot_of(strip - 1, every) : entry) * UP * edge_pitch;
        global cell_t *lower = edges + (size_t)slot_of(strip, every) * UP * edge_pitch;
% if shared:
        EACH_COLUMN(c, k, lid) {
% for q, type in shared.items():
            ((local ${type} *)columns${q})[c + k] = dp_load${q}(0, TABLE_COLUMN((base - SHIFT) * COLUMNS + c + k), n, m DP_ARGUMENTS);
% endfor
        }
% endif
#if SINGLE
        gone = wait_for(progress, strip - 1, min(tile_column + lag, tiles), patience, &given_up);
#endif
        clear_block(w);
        load_above(above, upper, base, begin == 0, edge_pitch, lid);
        pass_again(passed, lower_rows, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
        int enter, leave;
        inner_steps(&enter, &leave, base, begin, bottom, m, ${str(last).lower()});
        for (int step = ${"gone ? STEPS : 0" if single else "0"}; step < STEPS;) {
            const bool inner = step >= enter && step < leave;
            const int until = ${"step + FLUSH" if flush else "inner ? leave : step < enter ? enter : STEPS"};
            if (inner)
                for (; step < until; ++step)
${block(True)}\
            else
                for (; step < until; ++step)
${block(False)}\
% if flush:
#if TABLE
            flush_cells(table, pitch, stage, base + step, begin, bottom, blocks, n, lid);
#endif
#if BITS
            flush_choices(decisions, decision_pitch, won_stage, base + step, begin, top, bottom, blocks, lid);
#endif
            barrier(CLK_LOCAL_MEM_FENCE);   // before the stage is overwritten
% endif
        }
#if SINGLE
        if (!gone)
            store_below(lower, below, base, edge_pitch, lid);
        hand_on(progress, strip, tile_column + 1, gone);
#else
        store_below(lower, below, base, edge_pitch, lid);
        store_carried(mine, w, lower_rows);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);   // the next strip reads the lower edge of this one
#endif
    }
}
