// arc/arc_beside.h: for each work-item of a group the greatest heights of the work-items before it, and of those after it.
// The includer has WG_SIZE, heights_t (two heights) and NOTHING, the heights of an empty set.
//
//   items    | chunk of ARC_CHUNK work-items | chunk | ..         one work-item for each chunk scans it in both directions;
//   chunks   [ all of chunk 0 | of chunk 1 | .. ]                 then each adds the chunks before and after its own
//
// Both directions together need two barriers; a Kogge-Stone scan needs one for each power of two. No two work-items write
// parts of one vector, because a device may store the whole vector.
#define ARC_CHUNK 16
#define ARC_CHUNKS ((WG_SIZE + ARC_CHUNK - 1) / ARC_CHUNK)
#define CHUNKED(item) ((item) + (item) / ARC_CHUNK + 1)           // chunks begin on different banks
#define CHUNKED_ROOM CHUNKED(WG_SIZE)

// Sets `before` and `after`, and returns the greatest heights of all. items and lefts have CHUNKED_ROOM entries, chunks has
// ARC_CHUNKS. All work-items of the group call it, with a barrier between calls.
inline heights_t group_beside(heights_t own, uint lid, local heights_t *items, local heights_t *lefts,
                              local heights_t *chunks, heights_t *before, heights_t *after)
{
    items[CHUNKED(lid)] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = lid; c < ARC_CHUNKS; c += WG_SIZE) {
        const uint from = c * ARC_CHUNK, to = min(from + ARC_CHUNK, (uint)WG_SIZE);
        heights_t most = NOTHING;
        for (uint k = from; k < to; ++k) {
            lefts[CHUNKED(k)] = most;
            most = max(most, items[CHUNKED(k)]);
        }
        chunks[c] = most;
        most = NOTHING;
        for (uint k = to; k-- > from;) {
            const heights_t item = items[CHUNKED(k)];
            items[CHUNKED(k)] = most;                              // of those to the right of it
            most = max(most, item);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    heights_t left = lefts[CHUNKED(lid)], right = items[CHUNKED(lid)], most = NOTHING;
    const uint mine = lid / ARC_CHUNK;
#pragma unroll
    for (uint c = 0; c < ARC_CHUNKS; ++c) {
        const heights_t chunk = chunks[c];
        most = max(most, chunk);
        left = c < mine ? max(left, chunk) : left;
        right = c > mine ? max(right, chunk) : right;
    }
    *before = left;
    *after = right;
    return most;
}
