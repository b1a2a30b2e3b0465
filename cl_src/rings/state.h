// rings/state.h: words that the launches of a simplification share.
#define COUNT 0      // vertices in the list of those that remain
#define LEFT 1       // vertices in the next list
#define PENDING 2    // the least key above the limit
#define SUMS 3       // for each mask: vertices that are gone, and twice the area that was added (low word, high word)
