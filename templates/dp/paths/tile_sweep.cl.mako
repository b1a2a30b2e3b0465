<%page args="equation='', loads='', cells='', held=None, rounded=False, cell='int', offsets=((-1, -1), (-1, 0), (0, -1)), flip_rows=False, flip_columns=False, table=True, last=False, trapped=False, bits=0, single=False, flush=0, variant='group', wg_size=64, items_per_thread=1, block_rows=4, block_columns=4, steps=64"/>\
<%
    up, left = (max([1, *(-offset[axis] for offset in offsets)]) for axis in (0, 1))
    rows, columns = block_rows, block_columns
    vector = min(columns, 16 // {"int": 4, "float": 4, "long": 8, "double": 8}[cell])
    group = wg_size > 1
    across = columns // vector      # vectors side by side in a block
    parts = up * across             # vectors that an item passes on
    run = flush * across            # vectors of a row between two flushes
    batch = max(min(rows * run, 8), 1)      # of them on their way at once
    by_column = [q for q, (kind, _) in enumerate(held or ()) if kind == "column"]
    chunk = min(-(-(steps + wg_size - 1) * columns // wg_size), 8) if group else 1
    width = -(-(steps + wg_size - 1) * columns // (chunk * wg_size)) * chunk * wg_size
    vectors = f"for (int v = lid; v < STEPS * {parts}; v += WG_SIZE) {{"   # of what strips pass on
    if steps * parts <= wg_size:
        vectors = f"if (lid < STEPS * {parts}) {{\n            const int v = lid;"
    wide = {q: min(columns, 16 // {"int": 4, "float": 4, "long": 8, "double": 8}.get(held[q][1], 16)) for q in by_column}
%>\
// tile_sweep: slanted tiles of a table whose cells need only near cells above and to the left.
//
//   strip = WG_SIZE * ROWS rows; item t has ROWS of them and walks blocks of ROWS x COLUMNS cells, one a step
//
//   item 0   | . . |s=5|s=6|s=7|s=8| . .       at step s item t computes block s - t: all items are busy, and the item
//   item 1   | . |s=5|s=6|s=7|s=8| . . .       above has passed on the row above that block one step before
//   item 2   |s=5|s=6|s=7|s=8| . . . . .       a tile is STEPS steps of a strip; its cells never leave the registers,
//                                              only its lower edge and the items' left edges go on to other tiles
//
% if single:
// One launch: a group takes the next strip by a ticket, and keeps the left edges. It waits for the strip above, which a
// group that runs has taken before, to have come LAG tiles further: so some group can always go on. A group that has looked
// `patience` times in vain gives up, and so do all that wait: then the table is worth nothing, and the last word of
// `progress` says so.
% else:
// Tile (I, J) is computed by launch J + lag * I, when the lower edge of strip I - 1 has come far enough; left edges wait
// in `state`.
% endif
// Cells are addressed in the order of filling; flip_rows and flip_columns turn that into the table's rows and columns.
// Work: one evaluation a cell; memory: what is kept, and 1 / ROWS + 1 / COLUMNS of a table of edges at most.
% if rounded:
#define DP_ROUNDED_DIVIDE
% endif
#include "portable.h"
#include "dp/dp_math.h"
// as the function, in the index's own type
#define dp_lesser(a, b) ((a) < (b) ? (a) : (b))
#define dp_inside(index, size) (dp_lesser(index, (size) - 1) > 0 ? dp_lesser(index, (size) - 1) : 0)
% if trapped:
#include "dp/dp_stray.h"
% endif
#define NEAR ${"".join(f", const cell_t dp_near{q}" for q in range(len(offsets)))}${", global int *dp_stray" if trapped else ""}
#define DP_CONTEXT NEAR
<%
    choice = "dp_strayed(dp_stray, i, j, a, b)" if trapped else f"dp_near{len(offsets) - 1}"
    for q, (di, dj) in reversed(list(enumerate(offsets if trapped else offsets[:-1]))):
        real = (-di if flip_rows else di, -dj if flip_columns else dj)
        choice = f"(((a) - (i) == {real[0]} && (b) - (j) == {real[1]}) ? dp_near{q} : {choice})"
%>\
#define M(a, b) ${choice}
% if equation:
${equation}
% else:
#include "dp/dp_sample.h"
% endif
% if held is not None:
// Elements of parameters are read once for all cells that share them, and where no cell asks for them.
${loads}
#undef DP_CONTEXT
#define DP_CONTEXT NEAR${"".join(f", const {kind} dp_held{q}" for q, (_, kind) in enumerate(held))}
${cells}
% endif
#define WG_SIZE ${wg_size}
#define ROWS ${rows}
#define COLUMNS ${columns}
#define STEPS ${steps}
typedef ${cell}${vector} cells_t;   // stored at once: the table is our own memory, and rows are aligned for that
#define UP ${up}         // rows above a block that its cells read
#define LEFT ${left}       // columns to the left
#define STRIP (WG_SIZE * ROWS)
#define STATE (LEFT * (UP + ROWS) + UP * COLUMNS)   // cells that an item carries from one tile to the next
#define SHIFT (WG_SIZE - 1)      // steps that the last item is late
#define WIDTH ${width}         // columns that items of a tile come to, and some more
// x, which is at least `least`, written so that compilers see it: conditions of base cases fall away, and no branch is left
#define AT_LEAST(x, least) ((((x) - (least)) & INT_MAX) + (least))
% if bits:
typedef ${{8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}[bits * columns]} packed_t;   // decisions of a row of a block
% endif
% if single:
// between memory that groups share and the word that it is ready; what reads the memory is volatile, so no cache is in the way
#define FENCE mem_fence(CLK_GLOBAL_MEM_FENCE); write_mem_fence(CLK_GLOBAL_MEM_FENCE)
% endif
% if flush:
// Cells on their way to the table: RUN vectors of each row, so that rows are written in runs and not in bits.
#define FLUSH ${flush}          // steps between two flushes
#define RUN ${run}
#define STAGE (ROWS * RUN + 1)  // vectors of an item; one more keeps items in different banks
#define APART (WG_SIZE / RUN / ROWS)   // items whose rows are written at once
% if bits:
#define WON (ROWS * FLUSH + ${max(4 * 8 // (bits * columns), 1)})   // decisions of an item, in other banks than the next one's
#define WON_APART (WG_SIZE / FLUSH / ROWS)
% endif
% endif
<%def name="block(inside)">\
<%
    i, j = ("n - 1 - " if flip_rows else ""), ("m - 1 - " if flip_columns else "")
    inner, guarded = inside == "inner", inside == "partly"
    turned = flip_rows or flip_columns
%>\
% for c in range(columns):
% if guarded:
                if (column + ${c} < m) {
% endif
% for r in range(rows):
<%
    # the first row and column are 0: below and to the right of a block's first cell nothing is in them
    later = (inner or r > 0, inner or c > 0)
    near = "".join(f", w[{up + r + di}][{left + c + dj}]" for di, dj in offsets) + (", stray" if trapped else "")
    at_row, at_column = (
        f"AT_LEAST({x} + {k}, {k + (size if inner else 0)})" if known and held is None and not turned else f"{x} + {k}"
        for x, k, size, known in (("row", r, rows, later[0]), ("column", c, columns, later[1])))
    at = f"{i}({at_row}), {j}({at_column}), n, m"
    each = "" if held is None else "".join(
        f", held{q}_{r}" if kind == "row" else f", held{q}_{c}" if kind == "column" else f", dp_load{q}({at} DP_ARGUMENTS)"
        for q, (kind, _) in enumerate(held))
    function = "dp_cell" if held is None else "dp_cell_held" + "_i" * later[0] + "_j" * later[1]
    call = f"{function}({at}{near}{each} DP_ARGUMENTS DP_DECISION(&decision))"
%>\
                ${f"if (row + {r} < bottom) " if guarded else ""}w[${up + r}][${left + c}] = ${call};
% if bits:
                won[${r}] |= (packed_t)decision << ${c * bits};
% endif
% endfor
% if guarded:
                }
% endif
% endfor
</%def>\
<%def name="step_of(inner)">\
<%
    asked = not inner and (held is None or not group)    # whether there is a block; else it does no harm to compute it
    there = not inner and not asked
%>\
            {
            const int at = base + step - lid, column = at * COLUMNS;
% if group:
% for p in range(parts):
            const cells_t from${p} = *(lid ? &passed[(step + 1) & 1][${p}][lid - 1] : &above[step * ${parts} + ${p}]);
% endfor
% endif
% if asked:
            if (at >= 0 && at < blocks && row < bottom) {
% endif
% for u in range(up):
% for c in range(columns):
% if group:
                w[${u}][${left + c}] = from${u * across + c // vector}.s${c % vector};
% elif inner:
                w[${u}][${left + c}] = (upper + (size_t)${u} * edge_pitch + column)[${c}];
% else:
                w[${u}][${left + c}] = begin ? (upper + (size_t)${u} * edge_pitch + column)[${c}] : (cell_t)0;
% endif
% endfor
% endfor
% for q in by_column:
% for k in range(columns // wide[q]):
                const ${held[q][1]}${wide[q]} columns${q}_${k} = columns${q}[(step - lid + SHIFT) * ${columns // wide[q]} + ${k}];
% endfor
% for c in range(columns):
                const ${held[q][1]} held${q}_${c} = columns${q}_${c // wide[q]}.s${c % wide[q]};
% endfor
% endfor
% if bits:
                packed_t won[ROWS] = {0};
% endif
#if DP_HAS_DECISION
                uint decision = 0;
#endif
% if inner:
${block("inner")}\
% elif held is not None:
${block("wholly")}\
% else:
                if (row + ROWS <= bottom && column + COLUMNS <= m) {
${block("wholly")}\
                } else {
${block("partly")}\
                }
% endif
% if last and not inner:
                if (begin + STRIP >= n && at >= 0 && at < blocks) {
% for r in range(rows):
                    if (row + ${r} == n - 1) {
% for k in range(across):
                        *(global cells_t *)(last_row + column + ${k * vector}) = (cells_t)(${", ".join(f"w[{up + r}][{left + k * vector + v}]" for v in range(vector))});
% endfor
                    }
% endfor
                }
% endif
% if table and flush:
% for r in range(rows):
% for k in range(across):
                stage[lid * STAGE + ${r * run + k} + step % FLUSH * ${across}] = (cells_t)(${", ".join(f"w[{up + r}][{left + k * vector + v}]" for v in range(vector))});
% endfor
% endfor
% elif table:
                {
                global cell_t *target = table + (size_t)${"(n - 1 - row)" if flip_rows else "row"} * pitch + ${"(m - 1 - column)" if flip_columns else "column"};
                const long down = ${"-" if flip_rows else ""}(long)pitch;
% if not inner:
                if (at >= 0 && row + ROWS <= bottom && column + COLUMNS <= m) {
% endif
% for r in range(rows):
% if flip_columns:
% for c in range(columns):
                    target[${r} * down - ${c}] = w[${up + r}][${left + c}];
% endfor
% else:
% for c in range(0, columns, vector):
                    *(global cells_t *)(target + ${r} * down + ${c}) = (cells_t)(${", ".join(f"w[{up + r}][{left + c + v}]" for v in range(vector))});
% endfor
% endif
% endfor
% if not inner:
                } else if (at >= 0) {
% for r in range(rows):
% for c in range(columns):
                    if (row + ${r} < bottom && column + ${c} < m)
                        target[${r} * down ${"-" if flip_columns else "+"} ${c}] = w[${up + r}][${left + c}];
% endfor
% endfor
                }
% endif
                }
% endif
% if bits:
% for r in range(rows):
% if flush:
                won_stage[lid * WON + ${r} * FLUSH + step % FLUSH] = won[${r}];
% else:
                ${"" if inner else f"if (at >= 0 && at < blocks && row + {r} < bottom) "}decisions[(size_t)(row + ${r} - top) * decision_pitch + at] = won[${r}];
% endif
% endfor
% endif
% for u in range(up):
% for c in range(columns):
                pass[${u}][${c}] = w[${rows + u}][${left + c}];
% if not group:
                (lower + (size_t)${u} * edge_pitch + column)[${c}] = pass[${u}][${c}];
% endif
% endfor
% endfor
% for r in range(up + rows):
% for c in range(left):
                w[${r}][${c}] = ${"at < 0 ? (cell_t)0 : " if there else ""}w[${r}][${columns + c}];
% endfor
% endfor
% if asked:
            }
% endif
% if group:
% for p in range(parts):
            *(lid < SHIFT ? &passed[step & 1][${p}][lid] : &below[step * ${parts} + ${p}]) = (cells_t)(${", ".join(f"pass[{p // across}][{p % across * vector + v}]" for v in range(vector))});
% endfor
            barrier(CLK_LOCAL_MEM_FENCE);
% endif
            }
</%def>\

// Where the lower edge of a strip is held: two places in turn, and one of its own for every so many strips (0: none).
inline int slot_of(const int strip, const int every)
{
    return every && (strip + 1) % every == 0 ? 1 + (strip + 1) / every : strip & 1;
}

// Rows top .. bottom - 1; the edge above them is in place entry.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void tile_sweep(const int n, const int m, const int launch, const int first, const int lag, const int strips, const int top,
                const int bottom, const int entry, const int every, const int edge_pitch, global cell_t *${"" if single else "restrict"} edges,
% if single:
                volatile global int *progress,   // the next ticket, how many tiles of each strip are done, who gave up
                const int patience
% else:
                global cell_t *restrict state
% endif
% if trapped:
                , global int *stray
% endif
% if table:
                , global cell_t *restrict table, const int pitch
% endif
% if last:
                , global cell_t *restrict last_row   // in whole blocks, in the order of filling
% endif
% if bits:
                , global packed_t *restrict decisions, const int decision_pitch
% endif
                DP_KERNEL_PARAMETERS)
{
    const int lid = get_local_id(0);
    const int blocks = (m + COLUMNS - 1) / COLUMNS;
% if group:
    local cells_t passed[2][${parts}][WG_SIZE];                        // from item to item, in turn
    local cells_t above[STEPS * ${parts}], below[STEPS * ${parts}];    // for the first item, from the last
% endif
% if flush and table:
    local cells_t stage[WG_SIZE * STAGE];
% endif
% if flush and bits:
    local packed_t won_stage[WG_SIZE * WON];
% endif
% for q in by_column:
    local ${held[q][1]}${wide[q]} columns${q}[WIDTH / ${wide[q]}];   // what cells of a column share
% endfor
    cell_t w[UP + ROWS][LEFT + COLUMNS];   // the block, the rows above it, the columns to its left
    cell_t pass[UP][COLUMNS];              // the lower rows of the block before, on their way to the item below
% if single:
    local int ticket, given_up;
    if (lid == 0) {
        ticket = atomic_inc(progress);
        given_up = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int strip = ticket, tiles = (blocks + SHIFT + STEPS - 1) / STEPS;
    volatile global int *stalled = progress + 1 + get_num_groups(0);
    bool gone = false;   // the same for all items
    const int begin = top + strip * STRIP, row = begin + lid * ROWS;
% for q, (kind, type) in enumerate(held or ()):
% if kind == "row":
% for r in range(rows):
    const ${type} held${q}_${r} = dp_load${q}(${"n - 1 - " if flip_rows else ""}(row + ${r}), 0, n, m DP_ARGUMENTS);
% endfor
% endif
% endfor
    for (int tile_column = 0; tile_column < tiles && !gone; ++tile_column) {
        const int base = tile_column * STEPS;
% else:
    const int tile_row = first + (int)get_group_id(0), tile_column = launch - lag * tile_row;
    for (int strip = tile_row * strips; strip < (tile_row + 1) * strips && top + strip * STRIP < bottom; ++strip) {
        global cell_t *mine = state + (size_t)strip * STATE * WG_SIZE + lid;
        const int begin = top + strip * STRIP, row = begin + lid * ROWS, base = tile_column * STEPS;
% endif
        ${"volatile" if single else ""} global const cell_t *upper = edges + (size_t)(strip ? slot_of(strip - 1, every) : entry) * UP * edge_pitch;
        global cell_t *lower = edges + (size_t)slot_of(strip, every) * UP * edge_pitch;
        const bool fresh = tile_column == 0;
% if not single:
% for q, (kind, type) in enumerate(held or ()):
% if kind == "row":
% for r in range(rows):
        const ${type} held${q}_${r} = dp_load${q}(${"n - 1 - " if flip_rows else ""}(row + ${r}), 0, n, m DP_ARGUMENTS);
% endfor
% endif
% endfor
% endif
% if by_column and group:
% if width == chunk * wg_size:
        {
            const int c = lid;
% else:
        for (int c = lid; c < WIDTH; c += ${chunk} * WG_SIZE) {   // so many loads are under way at once
% endif
% for k in range(chunk):
% for q in by_column:
            ((local ${held[q][1]} *)columns${q})[c + ${k} * WG_SIZE] = dp_load${q}(0, ${"m - 1 - " if flip_columns else ""}((base - SHIFT) * COLUMNS + c + ${k} * WG_SIZE), n, m DP_ARGUMENTS);
% endfor
% endfor
        }
% elif by_column:
        for (int c = 0; strip == tile_row * strips && c < WIDTH; ++c) {
% for q in by_column:
            ((local ${held[q][1]} *)columns${q})[c] = dp_load${q}(0, ${"m - 1 - " if flip_columns else ""}(base * COLUMNS + c), n, m DP_ARGUMENTS);
% endfor
        }
% endif
% if single:
        if (lid == 0 && strip > 0) {
            const int enough = min(tile_column + lag, tiles);
            bool there = false;
            for (int looks = 0; looks < patience && !there; ++looks) {
                there = atomic_or(progress + strip, 0) >= enough;
                if (!there && looks % 256 == 255 && atomic_or(stalled, 0))
                    break;
            }
            if (!there) {
                atomic_xchg(stalled, 1);
                given_up = 1;
            }
            FENCE;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        gone = given_up;
        if (fresh) {
% for r in range(up + rows):
% for c in range(left):
            w[${r}][${c}] = (cell_t)0;
% endfor
% endfor
% for u in range(up):
% for c in range(columns):
            pass[${u}][${c}] = (cell_t)0;
% endfor
% endfor
        }
% else:
% for r in range(up + rows):
% for c in range(left):
        w[${r}][${c}] = fresh ? (cell_t)0 : mine[${r * left + c} * WG_SIZE];
% endfor
% endfor
% for u in range(up):
% for c in range(columns):
        pass[${u}][${c}] = fresh ? (cell_t)0 : mine[(LEFT * (UP + ROWS) + ${u * columns + c}) * WG_SIZE];
% endfor
% endfor
% endif
% for r in range(up + rows):
% for c in range(columns):
        w[${r}][${left + c}] = (cell_t)0;
% endfor
% endfor
% if group:
        ${vectors}
            const int column = (base + v / ${parts}) * COLUMNS + v % ${across} * ${vector};
            above[v] = begin && column < edge_pitch ?
                *(${"volatile " if single else ""}global const cells_t *)(upper + (size_t)(v % ${parts} / ${across}) * edge_pitch + column) : (cells_t)(0);
        }
% for p in range(parts):
        passed[1][${p}][lid] = (cells_t)(${", ".join(f"pass[{p // across}][{p % across * vector + v}]" for v in range(vector))});
% endfor
% endif
% if group:
        barrier(CLK_LOCAL_MEM_FENCE);
% endif
        // steps of which all items have whole blocks, and none in the first row or column
        int enter = SHIFT + 1 - base, leave = m / COLUMNS - base;
        enter = enter > 0 ? enter : 0;
        leave = leave < STEPS ? leave : STEPS;
% if flush:
        enter = (enter + FLUSH - 1) / FLUSH * FLUSH;
        leave = leave / FLUSH * FLUSH;
% endif
        if (begin == 0 || begin + STRIP ${">=" if last else ">"} bottom || enter >= leave)
            enter = leave = STEPS;
        for (int step = ${"gone ? STEPS : 0" if single else "0"}; step < STEPS;) {
            const bool inner = step >= enter && step < leave;
            const int until = ${"step + FLUSH" if flush else "inner ? leave : step < enter ? enter : STEPS"};
            if (inner)
                for (; step < until; ++step)
${step_of(True)}\
            else
                for (; step < until; ++step)
${step_of(False)}\
% if flush:
            const bool whole = base + step >= FLUSH + SHIFT && base + step <= blocks && begin + STRIP <= bottom;
% if table:
            {   // RUN items write the run of a row side by side
            int column = (base + step - FLUSH - lid / RUN / ROWS) * COLUMNS + lid % RUN * ${vector}, r = begin + lid / RUN;
            global cell_t *target = table + (${"(n - 1 - (long)r)" if flip_rows else "(long)r"} * pitch + column);
            local const cells_t *ready = stage + lid / RUN / ROWS * STAGE + lid / RUN % ROWS * RUN + lid % RUN;
            const long jump = APART * (ROWS * ${"-" if flip_rows else ""}(long)pitch - COLUMNS);
            if (whole)
                for (int k = 0; k < ROWS * RUN; k += ${batch}, target += ${batch} * jump, ready += ${batch} * APART * STAGE) {
% for b in range(batch):
                    const cells_t run${b} = ready[${b} * APART * STAGE];
% endfor
% for b in range(batch):
                    *(global cells_t *)(target + ${b} * jump) = run${b};
% endfor
                }
            else
                for (int k = 0; k < ROWS * RUN; ++k, target += jump, ready += APART * STAGE, column -= APART * COLUMNS, r += APART * ROWS)
                    if (column >= 0 && column < blocks * COLUMNS && r < bottom)
                        *(global cells_t *)target = *ready;
            }
% endif
% if bits:
            {   // FLUSH items write those of a row
            int block = base + step - FLUSH - lid / FLUSH / ROWS + lid % FLUSH, r = begin + lid / FLUSH;
            global packed_t *target = decisions + ((long)(r - top) * decision_pitch + block);
            local const packed_t *ready = won_stage + lid / FLUSH / ROWS * WON + lid / FLUSH % ROWS * FLUSH + lid % FLUSH;
            for (int k = 0; k < ROWS * FLUSH; ++k, target += WON_APART * (ROWS * (long)decision_pitch - 1), ready += WON_APART * WON,
                                              block -= WON_APART, r += WON_APART * ROWS)
                if (whole || (block >= 0 && block < blocks && r < bottom))
                    *target = *ready;
            }
% endif
            barrier(CLK_LOCAL_MEM_FENCE);   // the stage is written again
% endif
        }
% if group:
        ${vectors}
            const int column = (base - SHIFT + v / ${parts}) * COLUMNS + v % ${across} * ${vector};
            if (column >= 0 && column < edge_pitch${" && !gone" if single else ""})
                *(global cells_t *)(lower + (size_t)(v % ${parts} / ${across}) * edge_pitch + column) = below[v];
        }
% endif
% if single:
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (lid == SHIFT && !gone) {   // while the first item looks at the strip above
            FENCE;
            atomic_xchg(progress + 1 + strip, tile_column + 1);
        }
% else:
% for r in range(up + rows):
% for c in range(left):
        mine[${r * left + c} * WG_SIZE] = w[${r}][${c}];
% endfor
% endfor
% for u in range(up):
% for c in range(columns):
        mine[(LEFT * (UP + ROWS) + ${u * columns + c}) * WG_SIZE] = pass[${u}][${c}];
% endfor
% endfor
% if group:
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);   // the next strip reads the lower edge of this one
% endif
% endif
    }
}
