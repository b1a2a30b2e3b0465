<%page args="variant='group', wg_size=256, items_per_thread=1"/>\
// copy_strided: the items of an array with any strides and byte order, one after the other in native byte order.
//
//   from     byte `offset`: item (0, .., 0); item (i, .., k) lies i * stride_0 + .. + k * stride_last bytes further
//   layout   | extent_0, stride_0 | .. | extent_last, stride_last |      strides may be negative
//   to       | item (0, .., 0) | item (0, .., 1) | .. |
//
// A work-item moves an item byte by byte, because it may have any alignment: byte b comes from byte b ^ flip. `flip` is 0,
// or item_bytes - 1 to reverse the bytes of a number of 2, 4 or 8 bytes. Reads and writes n items.
#include "portable.h"
#define CLGEOM_SERIAL ${int(variant == "serial")}
#include "group/share.h"

kernel __attribute__((reqd_work_group_size(${wg_size}, 1, 1)))
void copy_strided(global const uchar *from, const ulong offset, const ulong n, global const long *layout,
                  const uint axes, const uint item_bytes, const uint flip, global uchar *to)
{
    EACH_OF(ulong, i, n, get_global_id(0), get_global_size(0)) {
        ulong rest = i, at = offset;
        for (uint axis = axes; axis-- > 0;) {
            const ulong extent = layout[2 * axis];
            at += (ulong)((long)(rest % extent) * layout[2 * axis + 1]);   // modulo 2**64, so it may go back
            rest /= extent;
        }
        for (uint b = 0; b < item_bytes; ++b)
            to[i * item_bytes + b] = from[at + (b ^ flip)];
    }
}
