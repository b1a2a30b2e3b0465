// keys/bisect.h: bisection without branches. All searches among as many entries take the same steps, so that several can
// be under way at once.
//
//   low                    the entry that is found: the last one that is known to hold, or may be the first
//   EACH_HALF(length, n)   `length` of the range from `low` on: n, n - n / 2 .. 2
//   HALVED(length, holds)  what to add to low: half of the length where `holds`, 0 or 1, is true of the entry half way
#define EACH_HALF(length, n) for (uint length = (n); length > 1; length -= length / 2)
#define HALVED(length, holds) ((length) / 2 & -(uint)(holds))
