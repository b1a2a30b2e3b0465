<%page args="equation='', cell='int', mode='ready', rounded=False, variant='group', wg_size=64, items_per_thread=1"/>\
// graph_cells: cells of an equation without a pattern: those that are ready, those of a list, or the reads of some.
//
//   ready   a cell is computed in this round if all cells that it reads were computed in earlier rounds (Algorithm 3 of
//           the study). Its reads are recorded: reads[c * capacity ..], `counts[c]` of them
//   stage   the cells of a list, none of which reads another (Algorithm 2); a read of a cell that was not computed before
//           is recorded as an error, like a read outside the table
//   probe   cells of a list, whose reads return made-up values; masks[k] records the regions of the reads
//
// A work-item for each cell. For small tables: every round visits every cell.
#define DP_MODE_READY ${int(mode == "ready")}
#define DP_MODE_PROBE ${int(mode == "probe")}
#include "portable.h"
#define DP_ROUNDED_DIVIDE ${int(rounded)}
#include "dp/dp_math.h"

typedef struct {
    global const ${cell} *table;
    volatile global uint *done;    // 0, or the round in which a cell was computed
    global uint *reads;
    uint round, capacity, count, seed, mask;
    bool missing, outside;
    long row, column;              // the first read outside the table, or of a later stage
} graph_t;

inline ${cell} graph_read(graph_t *graph, const long i, const long j, const long n, const long m, const long a, const long b)
{
#if DP_MODE_PROBE
    const uint rows = a < i ? 0 : a == i ? 1 : 2, columns = b < j ? 0 : b == j ? 1 : 2;
    graph->mask |= 1u << (3 * rows + columns);
    uint hash = (uint)a * 0x9e3779b9u ^ (uint)b * 0x85ebca6bu ^ graph->seed * 0xc2b2ae35u;
    hash = (hash ^ hash >> 15) * 0x2c1b3c6du;
    return (${cell})((hash ^ hash >> 13) % 100);
#else
    if (graph->missing || graph->outside)
        return 0;                  // values that are read after this may be wrong
    if (a < 0 || a >= n || b < 0 || b >= m) {
        graph->outside = true;
        graph->row = a;
        graph->column = b;
        return 0;
    }
    const uint c = (uint)(a * m + b);
    const uint done = atomic_or(graph->done + c, 0);    // atomic: other work-items set theirs in this round
#if DP_MODE_READY
    if (graph->count < graph->capacity)
        graph->reads[graph->count] = c;
    graph->count++;
    graph->missing = done == 0 || done >= graph->round;
    if (graph->missing)
        return 0;
#else
    if (done == 0 || done >= graph->round) {
        graph->outside = true;
        graph->row = a;
        graph->column = b;
        return 0;
    }
#endif
    return graph->table[c];
#endif
}

#define DP_CONTEXT , graph_t *dp_graph
#define M(a, b) graph_read(dp_graph, i, j, n, m, (a), (b))
% if equation:
${equation}
% else:
#include "dp/dp_sample.h"
% endif

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void graph_cells(const int n, const int m, global stored_t *table, global uint *done, global const ulong *cells,
                 const uint first, const uint count, const uint round, const uint capacity, global uint *reads,
                 global uint *counts, global long *outside, global uint *masks DP_KERNEL_PARAMETERS)
{
    for (uint k = get_global_id(0); k < count; k += get_global_size(0)) {
        graph_t graph = {0};
        graph.table = table;
        graph.done = done;
        graph.round = round;
        graph.capacity = capacity;
#if DP_HAS_DECISION
        uint decision = 0;
#endif
#if DP_MODE_PROBE
        for (uint seed = 0; seed < round; ++seed) {
            graph.seed = seed;
            (void)dp_cell((int)(cells[k] / m), (int)(cells[k] % m), n, m, &graph DP_ARGUMENTS DP_DECISION(&decision));
        }
        masks[k] = graph.mask;
#else
        const uint c = ${"k" if mode == "ready" else "(uint)cells[first + k]"};
#if DP_MODE_READY
        if (atomic_or(done + c, 0))
            continue;
        graph.reads = reads + (ulong)c * capacity;
#endif
        const cell_t value = dp_cell(c / m, c % m, n, m, &graph DP_ARGUMENTS DP_DECISION(&decision));
        counts[c] = graph.outside ? UINT_MAX : graph.count;
        if (graph.outside) {
            outside[2 * c] = graph.row;
            outside[2 * c + 1] = graph.column;
        }
        if (graph.missing || graph.outside)
            continue;
        atomic_xchg(done + c, round);
        table[c] = (stored_t)value;
#endif
    }
}
