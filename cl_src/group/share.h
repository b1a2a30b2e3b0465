// group/share.h: the elements that a work-item takes of n, or the tiles that a work-group takes. The includer has
// CLGEOM_SERIAL: 1 for kernels of CPUs, 0 for others.
//
//   serial   | member 0: a share in a row | member 1 | .. |      each goes through memory in order
//   group    | 0 | 1 | .. | members - 1 | 0 | 1 | .. |           neighbours take neighbouring elements
//
// EACH_OF(type, i, n, member, members) is the loop of `member` over its elements i, unsigned integers of this type.
#if CLGEOM_SERIAL
#define EACH_OF(type, i, n, member, members)                                                     \
    for (type i##_share = (n) / (type)(members) + ((n) % (type)(members) != 0),                  \
              i = min((type)(member) * i##_share, (type)(n)),                                    \
              i##_end = i + min(i##_share, (type)(n) - i);                                       \
         i < i##_end; ++i)
#else
#define EACH_OF(type, i, n, member, members) for (type i = (member); i < (n); i += (members))
#endif
