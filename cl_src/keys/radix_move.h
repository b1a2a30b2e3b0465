// keys/radix_move.h: from an ordered tile of a radix pass (keys/radix_tile.h) to the output, so that the writes of a digit
// are neighbours.
//
// After keys/payload.h. ARENA_BYTES of local memory are first for the teams' counts (and masks), then for the tile's keys,
// then for its payloads.
#define ARENA_COUNTS (TEAMS * RADIX * (CLGEOM_MATCH_MASKS ? 8 : 4))
#if CLGEOM_PAYLOAD == CLGEOM_PAYLOAD_carry
#define ITEM_BITS (CLGEOM_KEY_BITS > CLGEOM_PAYLOAD_BITS ? CLGEOM_KEY_BITS : CLGEOM_PAYLOAD_BITS)
#elif CLGEOM_PAYLOAD == CLGEOM_PAYLOAD_index
#define ITEM_BITS (CLGEOM_KEY_BITS > 32 ? CLGEOM_KEY_BITS : 32)
#else
#define ITEM_BITS CLGEOM_KEY_BITS
#endif
#define ARENA_KEYS (TILE * ITEM_BITS / 8)
#define ARENA_BYTES (ARENA_COUNTS > ARENA_KEYS ? ARENA_COUNTS : ARENA_KEYS)

// to[k]: where item k * WG_SIZE + lid of the ordered tile goes. from_tile[d]: what to add to an index in the tile for that
// in the output.
inline void scatter_keys(local const key_t *tile_keys, uint count, key_t flip, uint shift, uint mask,
                         local const uint *from_tile, uint *to, uint drop, global stored_t *keys_out, uint lid)
{
    EACH_ITEM(k) {
        const uint i = k * WG_SIZE + lid;
        const key_t bits = tile_keys[i];
        to[k] = from_tile[radix_digit(bits, flip, shift, mask)] + i;
#if CLGEOM_STORES
        if (i < count)
            keys_out[to[k]] = stored(bits, flip, drop);
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

#if CLGEOM_PAYLOAD
#if CLGEOM_PAYLOAD == CLGEOM_PAYLOAD_carry
typedef payload_t held_t;                          // a payload in local memory
#else
typedef uint held_t;
#endif

// Payloads of the tile that begins with key `base` take the way of their keys: index[k] in local memory, then to[k].
inline void scatter_payload(global const payload_t *payload, uint base, uint count, const uint *index, const uint *to,
                            local held_t *tile_payload, global payload_out_t *out, uint lid)
{
    EACH_ITEM(k) {
        const uint i = item_index(lid, k);
        tile_payload[index[k]] = i < count ? PAYLOAD_OF(base + i) : (held_t)0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_ITEM(k) {
        const uint i = k * WG_SIZE + lid;
        if (i < count)
            out[to[k]] = tile_payload[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
#endif
