// align_jobs.h: the tiles of alignments, and the edges between tiles. Whoever includes it has defined cell_t.
#define CODES 32        // of letters
#define PAD 31          // the code beyond the end of a sequence
#define UNKNOWN 255     // of a letter outside the alphabet
// bits of free_ends
#define A_BEGIN 1
#define B_BEGIN 2
#define A_END 4
#define B_END 8
#define JOB_WORDS 12
// Where `mask` holds, y, else x.
#define SELECT(x, y, mask) select(x, y, mask)

// A tile of the table of an alignment: cells i0 + 1 .. i0 + rows, j0 + 1 .. j0 + columns of n x m.
typedef struct {
    uint a_begin, b_begin;      // first letters
    int b_step;                 // 1, or -1 for the reverse complement
    int n, m, tile_row, tile_column;
    uint slot, end;             // number of its results; end of its operations
    ulong edges;                // index of its edges
    int i0, j0, rows, columns;
} job_t;

typedef struct { int gap_open, gap_extend, free_ends, band; } rules_t;

inline job_t job_of(global const uint *jobs, uint number, int side)
{
    global const uint *words = jobs + (size_t)JOB_WORDS * number;
    job_t job = {words[0], words[1], (int)words[2], (int)words[3], (int)words[4], (int)words[5], (int)words[6], words[7],
                 words[8], words[9] | (ulong)words[10] << 32, 0, 0, 0, 0};
    job.i0 = job.tile_row * side;
    job.j0 = job.tile_column * side;
    job.rows = min(job.n - job.i0, side);
    job.columns = min(job.m - job.j0, side);
    return job;
}

inline uchar letter_of_b(global const uchar *b, global const uchar *codes, job_t job, int j)
{
    return codes[(job.b_step > 0 ? 256 : 512) + b[(uint)(job.b_begin + job.b_step * j)]];
}

// H in the first row or column of the table, k cells from the corner.
inline cell_t border(rules_t rules, bool is_free, int k, cell_t never)
{
    if (k > rules.band)
        return never;
    return is_free || k == 0 ? 0 : -(rules.gap_open + k * rules.gap_extend);
}

// Edges of a pair: rows of m + 1 cells, then columns of n + 1, each cell with its H, and its E or F for the next one.
inline global cell_t *row_edge(global cell_t *edges, job_t job, int tile_row, uint row_slots)
{
    return edges + job.edges + 2 * (size_t)(tile_row % row_slots) * (job.m + 1);
}

inline global cell_t *column_edge(global cell_t *edges, job_t job, int tile_column, uint row_slots, uint column_slots)
{
    return edges + job.edges + 2 * (size_t)row_slots * (job.m + 1) + 2 * (size_t)(tile_column % column_slots) * (job.n + 1);
}
