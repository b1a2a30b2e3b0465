// rings/state.h: words that the launches of a simplification share, for all maps and for each map.
//
// nodes[vertex] is a node of the list of its ring, in one piece since most of it is read together:
//
//   before, behind   the neighbours
//   key              twice the area that the removal of the vertex would add, once the triangle has been searched; before
//                    with UNCHECKED. NEVER for vertices that stay while their neighbours do, and are in no list; STAYS for
//                    such that are still listed; NEW asks for a key. All but the first are at least UNCHECKED.
//   round            0 while the vertex is there, else that of its removal; with LAST if only a hole's last two vertices
//                    remain: the hole is then filled. The key stays.
#define BEFORE x
#define BEHIND y
#define KEY z
#define GONE_IN w
#define NODE_WORDS(nodes, vertex) ((volatile global uint *)(nodes) + 4 * (size_t)(vertex))
#define BEFORE_WORD 0
#define BEHIND_WORD 1
#define KEY_WORD 2
#define ROUND_WORD 3
#define LAST 0x80000000u

#define UNCHECKED 0x80000000u
#define NEVER 0xffffffffu
#define NEW 0xfffffffeu
#define STAYS 0xfffffffdu

// Whether a key is to be measured: NEW, or UNCHECKED.
inline int is_open(uint key)
{
    return key >= UNCHECKED && key != NEVER && key != STAYS;
}

#define ROUNDS 2               // rounds with one limit
#define LARGEST 0x7fffffefu    // the largest limit: larger areas are not added at once

#define ALIVE 0                // vertices in the list of those that may go
#define LEFT 1                 // vertices in the next list
#define ACTIVE 2               // maps that go on
#define ROUND 3                // rounds before those of this limit
#define REMOVED 4              // vertices that are removed
#define CANDIDATES 5           // vertices that may go with this limit; some more than once
#define CHOSEN 6               // .. 7: vertices that go in each round
#define DIRTY 8                // .. 9: their neighbours
#define MOST 10                // the largest limit of any map
#define LEAST 11               // vertices that the map, or the polygon, that needs most of them has after all removals
#define LEVEL 12               // the level
#define ALL 13                 // whether everything goes that can: a budget of polygons is met later
#define CUT 14                 // removals with the last limit of each map
#define MAPS 15                // words of the first map

#define BEYOND 0               // limit + 1: keys below it go; 0 when the map is done
#define PENDING 1              // the least key from it on
#define GONE 2                 // vertices that are gone
#define WAS 3                  // .. before this limit
#define ADDED 4                // twice the area that was added (low word, high word)
#define HAD 6                  // .. before this limit, which is the last one when the map is done
#define PASSED 8               // rounds before this limit
#define REMOVALS 9             // removals with this limit
#define MAP_WORDS 10
