// dp/dp_overflow.h: notes of cells whose value goes beyond their type. Included after the equation.
//
//   overflow   [ the earliest stage of a noted cell | a stage | the least index of a noted cell in that stage | kind | reverse ]
//
// All values of the earliest stage are right, and so is the note. Its index is found by a second fill, with the stage known.
// `kind` and `reverse` are those of the pattern's stages (dp/dp_pattern.h).
#if DP_TRAPS
#include "dp/dp_pattern.h"
#define DP_OVER(p) , p
inline void dp_note_overflow(const int i, const int j, const int n, const int m, global int *overflow)
{
    if (i < 0 || i >= n || j < 0 || j >= m) return;   // a cell that is computed and not used
    const int kind = overflow[3], line = dp_line(kind, i, j, n);
    const int stage = overflow[4] ? dp_stages(kind, n, m) - 1 - line : line;
    atomic_min(overflow, stage);
    if (stage == overflow[1])
        atomic_min(overflow + 2, dp_index_on(kind, i, j, n, m));
}
#define DP_NOTE_OVER(over, i, j) if (over) dp_note_overflow(i, j, n, m, dp_overflow)
#else
#define DP_OVER(p)
#define DP_NOTE_OVER(over, i, j)
#endif
