<%page args="code_bits=32, gaps=(5, 1), variant='serial', wg_size=1, items_per_thread=32"/>\
// shell_auto_windows: sorts windows of elements that overlap by a proven bound, and keeps the core of each: no
// iteration. The version of CPUs.
//
//   codes    | halo |        core        | halo |                    window w, from element w * core - halo on
//                            | halo |        core        | halo |    window w + 1
//   windows  | w0[0] w1[0] .. w7[0] | w0[1] w1[1] .. w7[1] | ..      LANES windows side by side, `rows` rows of them
//
// No element moves further than `halo`, so sorting a window puts the right elements into its core (the proof is in
// docs/explanation/shellsort.rst). Elements before the first are 0 and those beyond the end are all ones: they do not
// move.
// Windows lie one in each lane, in memory that fits the cache: every gap from GAPS[first_gap] on then works on whole
// vectors. Reads rows / core elements for each that it writes.
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define CODE_BITS ${code_bits}
#define LAST_CODE (~(code_t)0)
constant uint GAPS[] = {${", ".join(map(str, gaps))}};
#define GAP_COUNT ${len(gaps)}
#include "keys/shell_lanes.h"

// Loads elements from top - halo on into a lane of the windows.
inline void load_window(global const code_t *codes, uint n, ulong top, uint halo, uint rows, global code_t *lane)
{
    if (top >= halo && top - halo + rows <= n) {
        for (uint i = 0; i < rows; ++i)
            lane[i * LANES] = codes[top - halo + i];
    } else {
        for (uint i = 0; i < rows; ++i) {
            const long at = (long)(top + i) - halo;
            lane[i * LANES] = at < 0 ? 0 : at < n ? codes[at] : LAST_CODE;
        }
    }
}

inline void sort_windows(global code_t *window, uint rows, uint gap)
{
    uint i = 0;
    for (; i + 4 * gap <= rows; i += 4 * gap)
        for (uint s = 0; s < gap; ++s)
            lanes_insert_four(window + s * LANES, window + (i + s) * LANES, gap * LANES);
    for (; i < rows; ++i)
        lanes_insert(window, window + i * LANES, gap * LANES);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void shell_auto_windows(global const code_t *codes, const uint n, const uint rows, const uint halo,
                        const uint first_gap, global code_t *windows, global code_t *out)
{
    const uint core = rows - 2 * halo;
    const ulong span = (ulong)core * LANES;
    global code_t *window = windows + (ulong)get_group_id(0) * rows * LANES;
    for (ulong start = get_group_id(0) * span; start < n; start += get_num_groups(0) * span) {
        for (uint lane = 0; lane < LANES; ++lane)
            load_window(codes, n, start + lane * (ulong)core, halo, rows, window + lane);
        for (uint g = first_gap; g < GAP_COUNT; ++g)
            sort_windows(window, rows, GAPS[g]);
        for (uint lane = 0; lane < LANES; ++lane) {
            const ulong top = start + lane * (ulong)core;
            const uint count = top + core <= n ? core : top < n ? (uint)(n - top) : 0;
            for (uint i = 0; i < count; ++i)
                out[top + i] = window[(halo + i) * LANES + lane];
        }
    }
}
