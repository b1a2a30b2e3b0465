<%page args="problem='edit', letter='uchar', planes=2, words=2, strips=False, where='jobs', free='', variant='serial', wg_size=1, items_per_thread=8"/>\
<%
    narrow = {"uchar": 8, "ushort": 4}.get(letter, 0)     # letters of a chunk of eight bytes; 0: one at a time
    wide = 64 // narrow if narrow else 0
    # the lowest bits of the letters of a chunk, times factors that bring them together in the highest bits
    lowest = sum(1 << (wide * i) for i in range(narrow))
    gather = sum(1 << (64 - narrow - (wide - 1) * i) for i in range(narrow))
%>\
// pairs_bits: as in pairs_bits.cl.mako, LANES pairs at once in the lanes of vectors.
//
//   lane 0   . . | letter letter .. letter |      columns of a block of LANES pairs: all end together, and a shorter
//   lane 1       | letter letter .. letter |      one begins later. Before its begin a lane matches nothing and nothing
//   lane 2     . | letter letter .. letter |      is carried into it, so its first column stays as it is.
//
% if free:
// With a free begin it matches all instead: the column of zeros stays as it is, too.
//
% endif
// The columns in which not all lanes have begun, and up to seven more, come one at a time; the rest in chunks of eight
// bytes of letters. One work-item walks over blocks; vectors of four lanes, as many as LANES needs, hide each other's latency.
#define NARROW ${int(bool(narrow))}
#define WHERE_GRID ${int(where == "grid")}
#define WHERE_EVEN ${int(where == "even")}
#define WHERE_BOUNDS ${int(where == "bounds")}
#define STRIPS ${int(strips)}
#define WG_SIZE ${wg_size}
#define WORD_BITS 64
#define WORDS ${words}
#define PLANES ${planes}
#define LANES ${items_per_thread}u
#define VECTORS ${items_per_thread // 4}
typedef ulong4 word_t;
#include "sequences/pairs_words.h"
% if free:
typedef ulong bits_t;
#include "sequences/pairs_ends.h"
% endif

// All bits of a lane: one bit of its letters.
#define BIT(codes, at) as_ulong4(as_long4((codes) << (63 - (at))) >> 63)

#if NARROW
// As many letters from `at` on as eight bytes hold, or as there are; the first in the lowest bits.
inline ulong chunk_of(global const ${letter} *letters, const uint at, const uint total)
{
    if (total - at >= ${narrow})
        return as_ulong(vload${narrow}(0, letters + at));
    ulong codes = 0;
    for (uint c = 0; at + c < total; ++c)
        codes |= (ulong)letters[at + c] << (${wide} * c);
    return codes;
}
#endif
<%def name="column(codes, at, on, j)">
                #pragma unroll
                for (uint q = 0; q < VECTORS; ++q) {
                    word_t bits[PLANES];
                    #pragma unroll
                    for (uint k = 0; k < PLANES; ++k)
                        bits[k] = BIT(${codes}[q], ${at} + shift[k]);
                    word_t plus = ${"0" if problem == "lcs" else f"{on}[q] & 1" if on else "1"}, minus = 0;
% if strips:
                    if (strip > 0) {
                        plus = (plus_in[q] >> (${j} % 64)) & 1;
                        minus = (minus_in[q] >> (${j} % 64)) & 1;
                    }
% endif
                    #pragma unroll
                    for (uint w = 0; w < WORDS; ++w) {
                        word_t differs = plane[q][0][w] ^ bits[0];
                        #pragma unroll
                        for (uint k = 1; k < PLANES; ++k)
                            differs |= plane[q][k][w] ^ bits[k];
                        const word_t equal = ~differs${"" if not on else f" | ~{on}[q]" if free in ("begin", "both") else f" & {on}[q]"};
% if problem == "lcs":
                        grow[q][w] = lcs_word(equal, grow[q][w], &plus);
% else:
                        edit_word(equal, &grow[q][w], &fall[q][w], &plus, &minus);
% endif
                    }
% if strips:
                    plus_out[q] |= plus << (${j} % 64);
                    minus_out[q] |= minus << (${j} % 64);
% endif
                }
</%def>\

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void pairs_bits(global const ${letter} *letters, const uint total,
#if WHERE_GRID
                global const uint2 *rows, global const uint2 *columns, const uint width,
#elif WHERE_EVEN
                const uint row_begin, const uint row_count, const uint column_begin, const uint column_count,
#elif WHERE_BOUNDS
                global const uint *row_bounds, global const uint *column_bounds, const uint columns_at,
#else
                global const uint4 *jobs, global const uint *order,
#endif
                const uint first, const uint stop, global const uint *shifts, ${"const uint is_last, " if free else ""}global int *out, global ulong *carries)
{
    const ulong size = get_global_size(0), gid = get_global_id(0);
    uint shift[PLANES];
    for (uint k = 0; k < PLANES; ++k)
        shift[k] = shifts[k];
    for (ulong block = first + gid * LANES; block < stop; block += size * LANES) {
        uint4 job[LANES];
        uint columns_of_block = 0, least = UINT_MAX;
        for (uint l = 0; l < LANES; ++l) {
            const ulong p = min(block + l, (ulong)stop - 1);
#if WHERE_GRID
            job[l] = (uint4)(rows[p / width], columns[p % width]);
#elif WHERE_EVEN
            job[l] = (uint4)(row_begin + (uint)p * row_count, row_count, column_begin + (uint)p * column_count, column_count);
#elif WHERE_BOUNDS
            const uint2 from = (uint2)(row_bounds[p], column_bounds[p]);
            const uint2 count = (uint2)(row_bounds[p + 1], column_bounds[p + 1]) - from;
            job[l] = (uint4)(from.x, count.x, columns_at + from.y, count.y);
            job[l] = count.y < count.x ? job[l].zwxy : job[l];
#else
            job[l] = jobs[p];
#endif
            columns_of_block = max(columns_of_block, job[l].w);
            least = min(least, job[l].w);
        }
        const uint count = columns_of_block;
% if narrow and not strips:
        const uint head = count - least / ${narrow} * ${narrow};
% else:
        const uint head = count;
% endif
        int value[LANES];
        for (uint l = 0; l < LANES; ++l)
            value[l] = ${"0" if problem == "lcs" else "job[l].w"};
% if free:
        int lowest[LANES], end[LANES];
        for (uint l = 0; l < LANES; ++l) {
            lowest[l] = job[l].w;
            end[l] = 0;
        }
% endif
        word_t plane[VECTORS][PLANES][WORDS], grow[VECTORS][WORDS], fall[VECTORS][WORDS];
        ulong lane[LANES], begun[LANES];
#if STRIPS
        uint longest = 0;
        for (uint l = 0; l < LANES; ++l)
            longest = max(longest, job[l].y);
        for (uint strip = 0; strip == 0 || strip * WORDS * 64 < longest; ++strip) {
        word_t plus_in[VECTORS], minus_in[VECTORS], plus_out[VECTORS], minus_out[VECTORS];
        for (uint q = 0; q < VECTORS; ++q)
            plus_in[q] = minus_in[q] = plus_out[q] = minus_out[q] = 0;
        const uint top = strip * WORDS * 64;
#else
        const uint top = 0;
#endif
        for (uint w = 0; w < WORDS; ++w) {
            const uint row = top + w * 64;
            for (uint q = 0; q < VECTORS; ++q) {
                grow[q][w] = ${"0" if free in ("begin", "both") else "~(word_t)0"};
                fall[q][w] = 0;
                    for (uint k = 0; k < PLANES; ++k)
                    plane[q][k][w] = 0;
            }
#if NARROW
            for (uint c = 0; c < 64; c += ${narrow}) {
                for (uint l = 0; l < LANES; ++l)
                    lane[l] = row + c < job[l].y ? chunk_of(letters, job[l].x + row + c, total) : 0;
                    for (uint q = 0; q < VECTORS; ++q) {
                    const word_t codes = vload4(q, lane);
                            for (uint k = 0; k < PLANES; ++k) {
                        const word_t low = (codes >> shift[k]) & ${hex(lowest)}ul;
                        plane[q][k][w] |= ((low * ${hex(gather)}ul) >> ${64 - narrow}) << c;
                    }
                }
            }
#else
            for (uint c = 0; c < 64; ++c) {
                for (uint l = 0; l < LANES; ++l)
                    lane[l] = row + c < job[l].y ? letters[job[l].x + row + c] : 0;
                    for (uint q = 0; q < VECTORS; ++q) {
                    const word_t codes = vload4(q, lane);
                            for (uint k = 0; k < PLANES; ++k)
                        plane[q][k][w] |= ((codes >> shift[k]) & 1) << c;
                }
            }
#endif
        }
        for (uint j = 0; j < head; ++j) {
            for (uint l = 0; l < LANES; ++l) {
                const uint late = count - job[l].w;          // columns before this lane begins
                begun[l] = j >= late ? ULONG_MAX : 0;
                lane[l] = j >= late ? letters[job[l].z + (j - late)] : 0;
            }
            word_t codes[VECTORS], on[VECTORS];
            #pragma unroll
            for (uint q = 0; q < VECTORS; ++q) {
                codes[q] = vload4(q, lane);
                on[q] = vload4(q, begun);
            }
#if STRIPS
            if (strip > 0 && j % 64 == 0)
                for (uint q = 0; q < VECTORS; ++q) {
                    plus_in[q] = vload4(q, carries + ((ulong)(j / 64 * 2) * size + gid) * LANES);
                    minus_in[q] = vload4(q, carries + ((ulong)(j / 64 * 2 + 1) * size + gid) * LANES);
                }
#endif
            ${column("codes", "0", "on", "j")}\
% if strips:
            if (j % 64 == 63 || j + 1 == count)
                for (uint q = 0; q < VECTORS; ++q) {
                    vstore4(plus_out[q], q, carries + ((ulong)(j / 64 * 2) * size + gid) * LANES);
                    vstore4(minus_out[q], q, carries + ((ulong)(j / 64 * 2 + 1) * size + gid) * LANES);
                    plus_out[q] = minus_out[q] = 0;
                }
% endif
        }
% if narrow and not strips:
        for (uint j = head; j < count; j += ${narrow}) {
            word_t codes[VECTORS];
            for (uint l = 0; l < LANES; ++l)
                lane[l] = as_ulong(vload${narrow}(0, letters + job[l].z + (j - (count - job[l].w))));
            #pragma unroll
            for (uint q = 0; q < VECTORS; ++q)
                codes[q] = vload4(q, lane);
            % if words <= 3:
            #pragma unroll
            % endif
            for (uint c = 0; c < ${narrow}; ++c) {
                ${column("codes", f"{wide} * c", "", "")}\
            }
        }
% endif
        for (uint w = 0; w < WORDS; ++w) {
            const uint row = top + w * 64;
            ulong grows[LANES], falls[LANES];
            for (uint q = 0; q < VECTORS; ++q) {
                vstore4(grow[q][w], q, grows);
                vstore4(fall[q][w], q, falls);
            }
            for (uint l = 0; l < LANES; ++l) {
                const uint own = job[l].y > row ? min(job[l].y - row, 64u) : 0;
% if free:
                pass_rows(grows[l], falls[l], own, row, is_last, &value[l], &lowest[l], &end[l]);
% else:
                const ulong mask = own == 0 ? 0 : ULONG_MAX >> (64 - own);
% endif
% if free:
% elif problem == "lcs":
                value[l] += (int)popcount(~grows[l] & mask);
% else:
                value[l] += (int)popcount(grows[l] & mask) - (int)popcount(falls[l] & mask);
% endif
            }
        }
#if STRIPS
        }
#endif
% if free:
        for (uint l = 0; l < LANES && block + l < stop; ++l) {
            out[2 * (ulong)order[block + l]] = ${"value" if free == "begin" else "lowest"}[l];
            out[2 * (ulong)order[block + l] + 1] = ${"job[l].y" if free == "begin" else "end[l]"};
        }
% else:
        for (uint l = 0; l < LANES && block + l < stop; ++l)
            out[${"order[block + l]" if where == "jobs" else "block + l"}] = value[l];
% endif
    }
}
