<%page args="problem='edit', letter='uchar', planes=2, words=4, strips=False, where='jobs', free='', variant='group', wg_size=64, items_per_thread=1"/>\
<% staged = letter == "uchar" and not strips %>\
// pairs_bits: the edit distance, or the length of the longest common subsequence, of each of many pairs of sequences.
//
//   letters  | first sequences, one after another | second ones |        a job: (begin, length) of rows, of columns
//   item p   rows as bits: planes[k][w], bit i: bit shifts[k] of the code of row 32 * w + i
//            columns, one letter after another: WORD_BITS rows a word, WORDS words      ─> out[order[p]]
//   where="even": all rows are of one length, and all columns; "grid": pair p is that of row p / width, column p % width;
//   "bounds": a job is made from where the sequences begin, the shorter one as rows
//
// Two letters are equal where all PLANES bits that distinguish the letters of the batch are, so no table of masks is
// needed: a column takes PLANES operations a word besides. A work-item computes a pair alone, in registers; pairs are
// sorted by their lengths, so those of a group end together.
% if staged:
// The items of a group read STAGED words of four letters of one pair after the other together, into local memory, where
// those of its own pair lie WG_SIZE + 1 apart: neither the reads of global memory are scattered nor those of banks.
% endif
% if strips:
// Patterns beyond WORDS words are computed in strips, one below the other; `carries` has two bits for each column.
% endif
% if free:
// With free ends of the rows, of edit distances: the first column has zeros where the begin is free, and of the last one the
// least value is the distance where the end is free. For each pair `out` gets the distance and its row.
% endif
// Cost: 6 (lcs) or 16 (edit) operations, and PLANES for equality, for each column and word of 32 rows.
// Sources: lcs: Hyyro, "Bit-parallel LCS-length computation revisited" (2004); edit: Myers, "A fast bit-vector
// algorithm for approximate string matching based on dynamic programming" (1999), with the carries of Hyyro (2003).
#define WHERE_GRID ${int(where == "grid")}
#define WHERE_EVEN ${int(where == "even")}
#define WHERE_BOUNDS ${int(where == "bounds")}
#define STRIPS ${int(strips)}
#define WG_SIZE ${wg_size}
#define BY_GROUPS ${int(staged)}   // a group reads the letters of its pairs into local memory
#define STAGED 16
#define WORD_BITS 32
#define WORDS ${words}
#define PLANES ${planes}
typedef uint word_t;
#include "portable.h"
#include "sequences/pairs_words.h"
% if free:
typedef uint bits_t;
#include "sequences/pairs_ends.h"
% endif

// All bits of a word: one bit of a letter.
#define BIT(code, at) ((word_t)((int)((code) << (31 - (at))) >> 31))

% if letter == "uchar":
// Four letters from `at` on; the buffer ends with two words more.
inline uint four(global const uint *letters, const uint at)
{
    const ulong both = ((ulong)letters[at / 4 + 1] << 32) | letters[at / 4];
    return (uint)(both >> (at % 4 * 8));
}
% endif
#if BY_GROUPS
// Letters first .. first + 4 * STAGED - 1 of the rows (or columns) of each pair of the group, to local memory.
inline void stage(local uint *staged, local const uint2 *spans, global const uint *letters, const uint first)
{
    const uint lid = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);          // all items have read what is there
    for (uint k = lid; k < STAGED * WG_SIZE; k += WG_SIZE) {
        const uint2 span = spans[k / STAGED];
        const uint at = first + k % STAGED * 4;
        if (at < span.y)
            staged[k % STAGED * (WG_SIZE + 1) + k / STAGED] = four(letters, span.x + at);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
#endif
<%def name="column(code, at, j)">
            {
                word_t plus = ${"0" if problem == "lcs" else "1"}, minus = 0;
% if strips:
                if (strip > 0) {
                    plus = (plus_in >> ((${j}) % 32)) & 1;
                    minus = (minus_in >> ((${j}) % 32)) & 1;
                }
% endif
                word_t bits[PLANES];
                #pragma unroll
                for (uint k = 0; k < PLANES; ++k)
                    bits[k] = BIT(${code}, ${at} + shift[k]);
                #pragma unroll
                for (uint w = 0; w < WORDS; ++w) {
                    word_t differs = plane[0][w] ^ bits[0];
                    #pragma unroll
                    for (uint k = 1; k < PLANES; ++k)
                        differs |= plane[k][w] ^ bits[k];
% if problem == "lcs":
                    grow[w] = lcs_word(~differs, grow[w], &plus);
% else:
                    edit_word(~differs, &grow[w], &fall[w], &plus, &minus);
% endif
                }
% if strips:
                plus_out |= plus << ((${j}) % 32);
                minus_out |= minus << ((${j}) % 32);
                if ((${j}) % 32 == 31 || (${j}) + 1 == job.w) {
                    carries[((${j}) / 32 * 2) * size + gid] = plus_out;
                    carries[((${j}) / 32 * 2 + 1) * size + gid] = minus_out;
                    plus_out = minus_out = 0;
                }
% endif
            }
</%def>\

kernel CLGEOM_NARROW __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void pairs_bits(global const ${"uint" if letter == "uchar" else letter} *letters, const uint total,
#if WHERE_GRID
                global const uint2 *rows, global const uint2 *columns, const uint width,
#elif WHERE_EVEN
                const uint row_begin, const uint row_count, const uint column_begin, const uint column_count,
#elif WHERE_BOUNDS
                global const uint *row_bounds, global const uint *column_bounds, const uint columns_at,
#else
                global const uint4 *jobs, global const uint *order,
#endif
                const uint first, const uint stop, global const uint *shifts, ${"const uint is_last, " if free else ""}global int *out, global word_t *carries)
{
    const ulong size = get_global_size(0), gid = get_global_id(0);
    uint shift[PLANES];
    for (uint k = 0; k < PLANES; ++k)
        shift[k] = shifts[k];
#if BY_GROUPS
    local uint staged[STAGED * (WG_SIZE + 1)];
    local uint2 spans[2][WG_SIZE];
    local uint longest;
    const uint lid = get_local_id(0);
#endif
    for (ulong base = first + gid - get_local_id(0); base < stop; base += size) {
        const ulong p = base + get_local_id(0);
#if WHERE_GRID
        const uint4 job = p < stop ? (uint4)(rows[p / width], columns[p % width]) : (uint4)(0);
#elif WHERE_EVEN
        const uint at = (uint)p;
        const uint4 job = p < stop ? (uint4)(row_begin + at * row_count, row_count, column_begin + at * column_count, column_count) : (uint4)(0);
#elif WHERE_BOUNDS
        uint4 job = (uint4)(0);
        if (p < stop) {
            const uint2 from = (uint2)(row_bounds[p], column_bounds[p]);
            const uint2 count = (uint2)(row_bounds[p + 1], column_bounds[p + 1]) - from;
            job = (uint4)(from.x, count.x, columns_at + from.y, count.y);
            job = count.y < count.x ? job.zwxy : job;
        }
#else
        const uint4 job = p < stop ? jobs[p] : (uint4)(0);
#endif
#if BY_GROUPS
        if (lid == 0)
            longest = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_max(&longest, job.w);
        spans[0][lid] = job.xy;
        spans[1][lid] = job.zw;
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint all = longest;
#endif
        int value = ${"0" if problem == "lcs" else "job.w"};
% if free:
        int lowest = value, end = 0;
% endif
#if STRIPS
        for (uint strip = 0; strip == 0 || strip * WORDS * 32 < job.y; ++strip) {
        word_t plus_in = 0, minus_in = 0, plus_out = 0, minus_out = 0;
        const uint top = strip * WORDS * 32;
#else
        const uint top = 0;
#endif
        word_t plane[PLANES][WORDS], grow[WORDS], fall[WORDS];
        #pragma unroll
        for (uint w = 0; w < WORDS; ++w) {
            grow[w] = ${"0" if free in ("begin", "both") else "~(word_t)0"};
            fall[w] = 0;
            #pragma unroll
            for (uint k = 0; k < PLANES; ++k)
                plane[k][w] = 0;
            const uint row = top + w * 32;
% if staged:
            if (w % (STAGED / 8) == 0)
                stage(staged, spans[0], letters, row);
            for (uint c = 0; c < 32 && row + c < job.y; c += 4) {
                const uint codes = staged[(w % (STAGED / 8) * 8 + c / 4) * (WG_SIZE + 1) + lid];
% elif letter == "uchar":
            for (uint c = 0; c < 32 && row + c < job.y; c += 4) {
                const uint codes = four(letters, job.x + row + c);
% endif
% if letter == "uchar":
                #pragma unroll
                for (uint k = 0; k < PLANES; ++k)     // bits 0, 8, 16, 24 of the product's first factor: to bits 28 .. 31
                    plane[k][w] |= ((((codes >> shift[k]) & 0x01010101u) * 0x10204080u) >> 28) << c;
            }
% else:
            for (uint c = 0; c < 32 && row + c < job.y; ++c) {
                const uint code = letters[job.x + row + c];
                #pragma unroll
                for (uint k = 0; k < PLANES; ++k)
                    plane[k][w] |= ((code >> shift[k]) & 1) << c;
            }
% endif
        }
% if staged:
        for (uint begin = 0; begin < all; begin += 4 * STAGED) {
            stage(staged, spans[1], letters, begin);
            for (uint s = 0; s < STAGED && begin + 4 * s < job.w; ++s) {
                const uint j = begin + 4 * s, codes = staged[s * (WG_SIZE + 1) + lid];
                if (j + 4 <= job.w) {
                    #pragma unroll
                    for (uint c = 0; c < 4; ++c)
                        ${column("codes", "8 * c", "j + c")}\
                } else {
                    for (uint c = 0; j + c < job.w; ++c)
                        ${column("codes", "8 * c", "j + c")}\
                }
            }
        }
% else:
        for (uint j = 0; j < job.w; ++j) {
#if STRIPS
            if (strip > 0 && j % 32 == 0) {
                plus_in = carries[(j / 32 * 2) * size + gid];
                minus_in = carries[(j / 32 * 2 + 1) * size + gid];
            }
#endif
% if letter == "uchar":
            const uint code = (letters[(job.z + j) / 4] >> ((job.z + j) % 4 * 8)) & 255;
% else:
            const uint code = letters[job.z + j];
% endif
            ${column("code", "0", "j")}\
        }
% endif
        #pragma unroll
        for (uint w = 0; w < WORDS; ++w) {
            const uint row = top + w * 32, own = job.y > row ? min(job.y - row, 32u) : 0;
% if free:
            pass_rows(grow[w], fall[w], own, row, is_last, &value, &lowest, &end);
% else:
            const word_t mask = own == 0 ? 0 : ~(word_t)0 >> (32 - own);
% endif
% if free:
% elif problem == "lcs":
            value += (int)popcount(~grow[w] & mask);
% else:
            value += (int)popcount(grow[w] & mask) - (int)popcount(fall[w] & mask);
% endif
        }
#if STRIPS
        }
#endif
% if free:
        if (p < stop) {
            out[2 * (ulong)order[p]] = ${"value" if free == "begin" else "lowest"};
            out[2 * (ulong)order[p] + 1] = ${"job.y" if free == "begin" else "end"};
        }
% else:
        if (p < stop)
            out[${"order[p]" if where == "jobs" else "p"}] = value;
% endif
    }
}
