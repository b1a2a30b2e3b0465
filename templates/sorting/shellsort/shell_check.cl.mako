<%page args="code_bits=32, variant='group', wg_size=256, items_per_thread=1"/>\
// shell_check: whether the codes are in order.
//
//   codes    | c0 c1 c2 .. |      each item compares c[i] with c[i + 1], over its share
//   descent  set to 1 when some c[i] > c[i + 1]; the caller clears it
//
// Reads n codes.
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define WG_SIZE ${wg_size}
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void shell_check(global const code_t *codes, const uint n, global uint *descent)
{
    uint found = 0;
    EACH_OF(ulong, i, (ulong)n - 1, get_global_id(0), get_global_size(0))
        found |= codes[i] > codes[i + 1];
    if (found)
        *descent = 1;
}
