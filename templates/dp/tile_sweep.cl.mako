<%page args="equation='', loads='', cells='', held=None, rounded=False, cell='int', offsets=((-1, -1), (-1, 0), (0, -1)), flip_rows=False, flip_columns=False, table=True, last=False, trapped=False, bits=0, shuffle=None, variant='group', wg_size=64, items_per_thread=1, block_rows=4, block_columns=4, steps=64"/>\
<%
    up, left = (max([1, *(-offset[axis] for offset in offsets)]) for axis in (0, 1))
    rows, columns = block_rows, block_columns
    vector = min(columns, 16 // {"int": 4, "float": 4, "long": 8, "double": 8}[cell])
    local_pass = wg_size > 1 and not shuffle
%>\
// tile_sweep: one diagonal of slanted tiles of a table whose cells need only near cells above and to the left.
//
//   strip = WG_SIZE * ROWS rows; item t has ROWS of them and walks blocks of ROWS x COLUMNS cells, one a step
//
//   item 0   | . . |s=5|s=6|s=7|s=8| . .       at step s item t computes block s - t: all items are busy, and the item
//   item 1   | . |s=5|s=6|s=7|s=8| . . .       above has passed on the row above that block one step before
//   item 2   |s=5|s=6|s=7|s=8| . . . . .       a tile is STEPS steps of a strip; its cells never leave the registers,
//                                              only its lower edge and the items' left edges (state) go through memory
//
// Tile (I, J) is computed by launch J + lag * I, when the lower edge of strip I - 1 has come far enough. Cells are
// addressed in the order of filling; flip_rows and flip_columns turn that into the table's rows and columns.
// Work: one evaluation a cell; memory: what is kept, and 1 / ROWS + 1 / COLUMNS of a table of edges at most.
% if rounded:
#define DP_ROUNDED_DIVIDE
% endif
#include "portable.h"
#include "dp_math.h"
// as the function, in the index's own type: a load of each column of each block is a good part of the work
#define dp_lesser(a, b) ((a) < (b) ? (a) : (b))
#define dp_inside(index, size) (dp_lesser(index, (size) - 1) > 0 ? dp_lesser(index, (size) - 1) : 0)
% if trapped:
#include "dp_stray.h"
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
#include "dp_sample.h"
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
#if defined(__has_builtin)
#if __has_builtin(__builtin_assume)
#define ASSUME(condition) __builtin_assume(condition)
#endif
#endif
#ifndef ASSUME
#define ASSUME(condition)
#endif
% if shuffle == "ptx":
inline uint shuffle_up(uint mine)
{
    uint theirs;
    asm volatile("shfl.sync.up.b32 %0, %1, 1, 0, 0xffffffff;" : "=r"(theirs) : "r"(mine));
    return theirs;
}
% if cell in ("long", "double"):
inline cell_t from_above(cell_t mine) { const uint2 v = as_uint2(mine); return as_${cell}((uint2)(shuffle_up(v.x), shuffle_up(v.y))); }
% else:
inline cell_t from_above(cell_t mine) { return as_${cell}(shuffle_up(as_uint(mine))); }
% endif
% endif
<%def name="block(inside)">\
<%
    i, j = ("n - 1 - " if flip_rows else ""), ("m - 1 - " if flip_columns else "")
%>\
% for c in range(columns):
% if held is None and inside == "partly":
                if (column + ${c} < m) {
% endif
% for r in range(rows):
<%
    near = "".join(f", w[{up + r + di}][{left + c + dj}]" for di, dj in offsets) + (", stray" if trapped else "")
    at = f"{i}(row + {r}), {j}(column + {c}), n, m"
    each = "" if held is None else "".join(
        f", held{q}_{r}" if kind == "row" else f", held{q}_{c}" if kind == "column" else f", dp_load{q}({at} DP_ARGUMENTS)"
        for q, (kind, _) in enumerate(held))
    function = "dp_cell" if held is None else "dp_cell_held_inner" if inside == "inner" else "dp_cell_held"
    call = f"{function}({at}{near}{each} DP_ARGUMENTS DP_DECISION(&decision))"
%>\
% if held is None and inside == "partly":
                    if (row + ${r} < bottom)
% endif
                    {
% if held is None and inside != "inner" and r and c:
                        ASSUME(row + ${r} >= 1 && column + ${c} >= 1);
% endif
                        w[${up + r}][${left + c}] = ${call};
                    }
% if bits:
                    won[${r}] |= (packed_t)decision << ${c * bits};
% endif
% endfor
% if held is None and inside == "partly":
                }
% endif
% endfor
</%def>\
% if bits:
typedef ${{8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}[bits * columns]} packed_t;   // decisions of a row of a block
% endif

// Where the lower edge of a strip is held: two places in turn, and one of its own for every so many strips (0: none).
inline int slot_of(const int strip, const int every)
{
    return every && (strip + 1) % every == 0 ? 1 + (strip + 1) / every : strip & 1;
}

// Rows top .. bottom - 1; the edge above them is in place entry.
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void tile_sweep(const int n, const int m, const int launch, const int first, const int lag, const int strips, const int top,
                const int bottom, const int entry, const int every, const int edge_pitch, global cell_t *restrict edges, global cell_t *restrict state
% if trapped:
                , global int *stray
% endif
% if table:
                , global cell_t *restrict table, const int pitch
% endif
% if last:
                , global cell_t *restrict last_row
% endif
% if bits:
                , global packed_t *restrict decisions, const int decision_pitch
% endif
                DP_KERNEL_PARAMETERS)
{
    const int lid = get_local_id(0);
    const int tile_row = first + (int)get_group_id(0), tile_column = launch - lag * tile_row;
    const int blocks = (m + COLUMNS - 1) / COLUMNS;
% if local_pass:
    local cell_t passed[2][UP * COLUMNS][WG_SIZE];
% endif
% if wg_size > 1:
    local cell_t above[UP][STEPS * COLUMNS];
% endif
    for (int strip = tile_row * strips; strip < (tile_row + 1) * strips; ++strip) {
        const int begin = top + strip * STRIP, row = begin + lid * ROWS;
        global const cell_t *upper = edges + (size_t)(strip ? slot_of(strip - 1, every) : entry) * UP * edge_pitch;
        global cell_t *lower = edges + (size_t)slot_of(strip, every) * UP * edge_pitch;
        global cell_t *mine = state + (size_t)strip * STATE * WG_SIZE + lid;
        cell_t w[UP + ROWS][LEFT + COLUMNS];   // the block, the rows above it, the columns to its left
        cell_t pass[UP][COLUMNS];              // the lower rows of the block before, on their way to the item below
        const bool fresh = tile_column == 0, inside = begin > 0 && begin + STRIP < bottom${" && tile_column * STEPS >= WG_SIZE && (tile_column + 1) * STEPS * COLUMNS < m" if held is not None else ""};   // the same for all items
% for r in range(up + rows):
% for c in range(left):
        w[${r}][${c}] = fresh ? (cell_t)0 : mine[${r * left + c} * WG_SIZE];
% endfor
% for c in range(columns):
        w[${r}][${left + c}] = (cell_t)0;
% endfor
% endfor
% for u in range(up):
% for c in range(columns):
        pass[${u}][${c}] = fresh ? (cell_t)0 : mine[(LEFT * (UP + ROWS) + ${u * columns + c}) * WG_SIZE];
% endfor
% endfor
% if wg_size > 1:
        for (int c = lid; c < STEPS * COLUMNS; c += WG_SIZE) {
            const int column = tile_column * STEPS * COLUMNS + c;
            for (int u = 0; u < UP; ++u)
                above[u][c] = begin && column < m ? upper[(size_t)u * edge_pitch + column] : (cell_t)0;
        }
% endif
% if local_pass:
% for u in range(up):
% for c in range(columns):
        passed[1][${u * columns + c}][lid] = pass[${u}][${c}];
% endfor
% endfor
% endif
% if wg_size > 1:
        barrier(CLK_LOCAL_MEM_FENCE);
% endif
% for q, (kind, type) in enumerate(held or ()):
% if kind == "row":
% for r in range(rows):
        const ${type} held${q}_${r} = dp_load${q}(${"n - 1 - " if flip_rows else ""}(row + ${r}), 0, n, m DP_ARGUMENTS);
% endfor
% elif kind == "column":
% for c in range(columns):
        ${type} held${q}_${c} = dp_load${q}(0, ${"m - 1 - " if flip_columns else ""}((tile_column * STEPS - lid) * COLUMNS + ${c}), n, m DP_ARGUMENTS);
% endfor
% endif
% endfor
        for (int step = 0; step < STEPS; ++step) {
            const int at = tile_column * STEPS + step - lid, column = at * COLUMNS;
% for q, (kind, type) in enumerate(held or ()):
% if kind == "column":
            // for the next step, so that this one does not wait for them
% for c in range(columns):
            const ${type} next${q}_${c} = dp_load${q}(0, ${"m - 1 - " if flip_columns else ""}(column + COLUMNS + ${c}), n, m DP_ARGUMENTS);
% endfor
% endif
% endfor
% if shuffle:
% for u in range(up):
% for c in range(columns):
            pass[${u}][${c}] = from_above(pass[${u}][${c}]);
% endfor
% endfor
% endif
            if (at >= 0 && at < blocks && row < bottom) {
% for u in range(up):
% for c in range(columns):
% if wg_size == 1:
                w[${u}][${left + c}] = begin ? upper[(size_t)${u} * edge_pitch + column + ${c}] : (cell_t)0;
% elif shuffle:
                w[${u}][${left + c}] = lid ? pass[${u}][${c}] : above[${u}][step * COLUMNS + ${c}];
% else:
                w[${u}][${left + c}] = lid ? passed[(step + 1) & 1][${u * columns + c}][lid - 1] : above[${u}][step * COLUMNS + ${c}];
% endif
% endfor
% endfor
% if bits:
                packed_t won[ROWS] = {0};
% endif
#if DP_HAS_DECISION
                uint decision = 0;
#endif
% if held is None:
                const bool straight = inside && at >= 1 && column + COLUMNS < m;
% else:
                const bool straight = inside;
% endif
                if (straight) {
                    ASSUME(row >= ROWS && column >= COLUMNS);
${block("inner")}\
% if held is None:
                } else if (row + ROWS <= bottom && column + COLUMNS <= m) {
${block("wholly")}\
                } else {
${block("partly")}\
% else:
                } else {
${block("wholly")}\
% endif
                }
% if last:
                if (!straight && row < n && row + ROWS >= n) {
% for r in range(rows):
% for c in range(columns):
                    if (row + ${r} == n - 1 && column + ${c} < m)
                        last_row[${"m - 1 - " if flip_columns else ""}(column + ${c})] = w[${up + r}][${left + c}];
% endfor
% endfor
                }
% endif
% if table:
                global cell_t *target = table + (size_t)${"(n - 1 - row)" if flip_rows else "row"} * pitch + ${"(m - 1 - column)" if flip_columns else "column"};
                const long down = ${"-" if flip_rows else ""}(long)pitch;
                if (straight || (row + ROWS <= bottom && column + COLUMNS <= m)) {
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
                } else {
% for r in range(rows):
% for c in range(columns):
                    if (row + ${r} < bottom && column + ${c} < m)
                        target[${r} * down ${"-" if flip_columns else "+"} ${c}] = w[${up + r}][${left + c}];
% endfor
% endfor
                }
% endif
% if bits:
% for r in range(rows):
                if (row + ${r} < bottom)
                    decisions[(size_t)(row + ${r} - top) * decision_pitch + at] = won[${r}];
% endfor
% endif
% for u in range(up):
% for c in range(columns):
                pass[${u}][${c}] = w[${rows + u}][${left + c}];
% endfor
% endfor
                if (lid == WG_SIZE - 1) {
% for u in range(up):
% for c in range(columns):
                    lower[(size_t)${u} * edge_pitch + column + ${c}] = pass[${u}][${c}];
% endfor
% endfor
                }
% for r in range(up + rows):
% for c in range(left):
                w[${r}][${c}] = w[${r}][${columns + c}];
% endfor
% endfor
            }
% for q, (kind, type) in enumerate(held or ()):
% if kind == "column":
% for c in range(columns):
            held${q}_${c} = next${q}_${c};
% endfor
% endif
% endfor
% if local_pass:
% for u in range(up):
% for c in range(columns):
            passed[step & 1][${u * columns + c}][lid] = pass[${u}][${c}];
% endfor
% endfor
            barrier(CLK_LOCAL_MEM_FENCE);
% endif
        }
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
% if wg_size > 1:
        barrier(CLK_LOCAL_MEM_FENCE);   // above and passed are written again for the next strip
% endif
    }
}
