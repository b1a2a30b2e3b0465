<%page args="equation='', reads='', elements='', held=None, rounded=False, record='', cell='int', vector=0, offsets=((-1, -1), (-1, 0), (0, -1)), flip_rows=False, flip_columns=False, table=True, last=False, bits=0, variant='serial', wg_size=1, items_per_thread=1, block_rows=4, block_columns=4, steps=64"/>\
<%
    up, left = (max([1, *(-offset[axis] for offset in offsets)]) for axis in (0, 1))
    itemsizes = {"int": 4, "float": 4, "long": 8, "ulong": 8, "double": 8}
    vector = vector or min(block_columns, 4)
    # elements that the cells of a row share, those of a column, and how many of the latter one load takes
    rows, shared = ({q: type for q, (kind, type) in enumerate(held or ()) if kind == one} for one in ("row", "column"))
    each = {q: min(block_columns, 16 // itemsizes.get(type, 16)) for q, type in shared.items()}
%>\
// tile_sweep: tiles of a table whose cells read only near cells above and to the left; one work-item fills a tile alone.
//
//   strip 0   |s=0|s=1|s=2| .. |     a tile is STEPS blocks of ROWS x COLUMNS cells in each of several strips, one below
//   strip 1   |s=0|s=1|s=2| .. |     the other; its cells never leave the registers: only the lower edge of each strip and
//   ..                               the left columns of the next block are passed to other tiles
//
// Tile (I, J) is computed by launch J + lag * I, when the tile above it is complete; left columns are stored in `state`.
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
#define WG_SIZE 1
#define ROWS ${block_rows}
#define COLUMNS ${block_columns}
#define STEPS ${steps}
#define UP ${up}         // rows above a block that its cells read
#define LEFT ${left}       // columns to the left
#define FLIP_ROWS ${int(flip_rows)}
#define FLIP_COLUMNS ${int(flip_columns)}
#define VECTOR ${vector}
#define BITS ${bits}
typedef ${cell}${vector if vector > 1 else ''} cells_t;
#include "dp/dp_overflow.h"
#include "dp/dp_tile.h"
#include "dp/dp_tile_choices.h"
#include "dp/dp_tile_steps.h"
<%def name="block(inner)">\
            {
                const int at = base + step, column = at * COLUMNS;
                #pragma unroll
                for (int u = 0; u < UP; ++u)
                    #pragma unroll
                    for (int c = 0; c < COLUMNS; ++c)
                        w[u][LEFT + c] = ${"" if inner else "!begin ? DP_NO_CELL : "}(upper + (size_t)u * edge_pitch + column)[c];
% for q, type in shared.items():
% for k in range(block_columns // each[q]):
                const ${type}${each[q]} columns${q}_${k} = columns${q}[step * ${block_columns // each[q]} + ${k}];
% endfor
                const ${type} held${q}[] = {${", ".join(f"columns{q}_{c // each[q]}.s{c % each[q]}" for c in range(block_columns))}};
% endfor
                NO_CHOICES;
                NO_OVERFLOWS;
                ${f"FILL_BLOCK({int(inner)}, true)" if inner or held is not None else "FILL_INSIDE"}
                NOTE_OVERFLOWS;
% if last and not inner:
                if (begin + STRIP >= n)
                    store_last_row(last_row, w, row, column, n);
% endif
% if table:
                store_block(table, pitch, w, row, column, bottom, n, m, ${"true" if inner else "false"});
% endif
% if bits:
                store_choices(decisions, decision_pitch, won, row, at, top, ${"row + ROWS" if inner else "bottom"});
% endif
                #pragma unroll
                for (int u = 0; u < UP; ++u)
                    #pragma unroll
                    for (int c = 0; c < COLUMNS; ++c)
                        (lower + (size_t)u * edge_pitch + column)[c] = w[ROWS + u][LEFT + c];
                next_block(w, false);
            }
</%def>\

// Rows top .. bottom - 1; the edge above them is in slot `entry`. The last row is stored in whole blocks, in the order of
// filling.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void tile_sweep(const int n, const int m, const int launch, const int first, const int lag, const int strips, const int top,
                const int bottom, const int entry, const int every, const int edge_pitch, global cell_t *restrict edges,
                global cell_t *restrict state
                ${", global cell_t *restrict table, const int pitch" if table else ""}
                ${", global cell_t *restrict last_row" if last else ""}
                ${", global packed_t *restrict decisions, const int decision_pitch" if bits else ""} DP_KERNEL_PARAMETERS)
{
    const int tile_row = first + (int)get_group_id(0), tile_column = launch - lag * tile_row;
    const int base = tile_column * STEPS, blocks = (m + COLUMNS - 1) / COLUMNS, stop = min(STEPS, blocks - base);
% for q, type in shared.items():
    local ${type}${each[q]} columns${q}[STEPS * COLUMNS / ${each[q]}];   // elements that the cells of a column share
    for (int c = 0; c < STEPS * COLUMNS; ++c)
        ((local ${type} *)columns${q})[c] = dp_load${q}(0, TABLE_COLUMN(base * COLUMNS + c), n, m DP_ARGUMENTS);
% endfor
    value_t w[UP + ROWS][WIDE];
    for (int strip = tile_row * strips; strip < (tile_row + 1) * strips && top + strip * STRIP < bottom; ++strip) {
        const int begin = top + strip * STRIP, row = begin;
        global cell_t *mine = state + (size_t)strip * STATE;
        global const cell_t *upper = edges + (size_t)(strip ? slot_of(strip - 1, every) : entry) * UP * edge_pitch;
        global cell_t *lower = edges + (size_t)slot_of(strip, every) * UP * edge_pitch;
% for q, type in rows.items():
        HOLD_ROWS(${type}, held${q}, dp_load${q});
% endfor
        load_left(w, mine, tile_column == 0);
        clear_block(w);
        int enter, leave;
        inner_steps(&enter, &leave, base, begin, bottom, m, ${str(last).lower()});
        for (int step = 0; step < stop;) {
            const bool inner = step >= enter && step < leave;
            const int until = inner ? leave : min(step < enter ? enter : STEPS, stop);
            if (inner)
                for (; step < until; ++step)
${block(True)}\
            else
                for (; step < until; ++step)
${block(False)}\
        }
        store_left(mine, w);
    }
}
