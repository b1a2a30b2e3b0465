<%page args="problem='edit', letter='uchar', planes=2, words=4, strips=False, grid=False, variant='group', wg_size=64, items_per_thread=1"/>\
// pairs_bits: the edit distance, or the length of the longest common subsequence, of each of many pairs of sequences.
//
//   letters  | first sequences, one after another | second ones |        a job: (begin, length) of rows, of columns
//   item p   rows as bits: planes[k][w], bit i: bit shifts[k] of the code of row 32 * w + i
//            columns, one letter after another: WORD_BITS rows a word, WORDS words      ─> out[order[p]]
//
// Two letters are equal where all PLANES bits that distinguish the letters of the batch are, so no table of masks is
// needed: a column takes PLANES operations a word besides. A work-item computes a pair alone, in registers; pairs are
// sorted by their lengths, so those of a group end together. An item reads its letters in aligned words of four, and
// each sector of memory stays in the cache until its letters are used.
% if strips:
// Patterns beyond WORDS words are computed in strips, one below the other; `carries` has two bits for each column.
% endif
// Cost: 6 (lcs) or 16 (edit) operations, and PLANES for equality, for each column and word of 32 rows.
// Sources: lcs: Hyyro, "Bit-parallel LCS-length computation revisited" (2004); edit: Myers, "A fast bit-vector
// algorithm for approximate string matching based on dynamic programming" (1999), with the carries of Hyyro (2003).
#define WG_SIZE ${wg_size}
#define WORD_BITS 32
#define WORDS ${words}
#define PLANES ${planes}
typedef uint word_t;
#include "dp/pairs_words.h"

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

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void pairs_bits(global const ${"uint" if letter == "uchar" else letter} *letters, const uint total,
% if grid:
                global const uint2 *rows, global const uint2 *columns, const uint width,
% else:
                global const uint4 *jobs, global const uint *order,
% endif
                const uint first, const uint stop, global const uint *shifts, global int *out, global word_t *carries)
{
    const ulong size = get_global_size(0), gid = get_global_id(0);
    uint shift[PLANES];
    for (uint k = 0; k < PLANES; ++k)
        shift[k] = shifts[k];
    for (ulong p = first + gid; p < stop; p += size) {
% if grid:
        const uint4 job = (uint4)(rows[p / width], columns[p % width]);
% else:
        const uint4 job = jobs[p];
% endif
        int value = ${"0" if problem == "lcs" else "job.w"};
% if strips:
        for (uint strip = 0; strip == 0 || strip * WORDS * 32 < job.y; ++strip) {
        word_t plus_in = 0, minus_in = 0, plus_out = 0, minus_out = 0;
        const uint top = strip * WORDS * 32;
% else:
        const uint top = 0;
% endif
        word_t plane[PLANES][WORDS], grow[WORDS], fall[WORDS];
        #pragma unroll
        for (uint w = 0; w < WORDS; ++w) {
            grow[w] = ~(word_t)0;
            fall[w] = 0;
            #pragma unroll
            for (uint k = 0; k < PLANES; ++k)
                plane[k][w] = 0;
            const uint row = top + w * 32;
% if letter == "uchar":
            for (uint c = 0; c < 32 && row + c < job.y; c += 4) {
                const uint codes = four(letters, job.x + row + c);
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
% if letter == "uchar" and not strips:
        uint j = 0, low = letters[job.z / 4];
        const uint off = job.z % 4 * 8;
        for (; j + 4 <= job.w; j += 4) {
            const uint high = letters[(job.z + j) / 4 + 1];
            const uint codes = (uint)((((ulong)high << 32) | low) >> off);
            low = high;
            #pragma unroll
            for (uint c = 0; c < 4; ++c)
                ${column("codes", "8 * c", "j + c")}\
        }
        if (j < job.w) {
            const uint codes = four(letters, job.z + j);
            for (uint c = 0; j + c < job.w; ++c)
                ${column("codes", "8 * c", "j + c")}\
        }
% else:
        for (uint j = 0; j < job.w; ++j) {
% if strips:
            if (strip > 0 && j % 32 == 0) {
                plus_in = carries[(j / 32 * 2) * size + gid];
                minus_in = carries[(j / 32 * 2 + 1) * size + gid];
            }
% endif
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
            const word_t mask = own == 0 ? 0 : ~(word_t)0 >> (32 - own);
% if problem == "lcs":
            value += (int)popcount(~grow[w] & mask);
% else:
            value += (int)popcount(grow[w] & mask) - (int)popcount(fall[w] & mask);
% endif
        }
% if strips:
        }
% endif
        out[${"p" if grid else "order[p]"}] = value;
    }
}
