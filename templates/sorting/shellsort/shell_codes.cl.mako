<%page args="key_bits=32, key_float=0, code_bits=32, direction='encode', variant='group', wg_size=256, items_per_thread=1"/>\
// shell_codes: keys to codes that compare as unsigned integers (encode), or back (decode).
//
//   from   | k0 k1 k2 .. |        bits of the keys, as wide as they are
//   to     | .. c0 c1 .. |        from element `at` on; codes of narrow keys are widened to 32 bits
//
// Reads and writes n elements, once each; keys/key_order.h defines the total order.
#define CLGEOM_KEY_BITS ${key_bits}
#define CLGEOM_KEY_FLOAT ${key_float}
#include "keys/key_order.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"
typedef ${"uint" if code_bits == 32 else "ulong"} code_t;
#define WG_SIZE ${wg_size}
<%
    source, result = ("key_t", "code_t") if direction == "encode" else ("code_t", "key_t")
    function = f"key_{direction}"
    if key_float == 2:  # the ordered keys of dates and durations are a bijection
        function = {"encode": "key_digits", "decode": "key_of_digits"}[direction]
%>
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void shell_codes(global const ${source} *from, const ulong n, const ulong at, const key_t flip, global ${result} *to)
{
    EACH_OF(ulong, i, n, get_global_id(0), get_global_size(0))
        to[at + i] = ${function}((key_t)from[i], flip);
}
