// hood/hood_state.h: the state that hood_blocks writes for hood_merge.
//
//   state    [ runs: lower 0 1 2 .. | upper 0 1 2 .. ][ runs_of: 1 1 1 .. ]         a run: the corners that remain of a block's hood
//            [ ranges: lower (first, last) of block 0 .. | upper .. ]               indices in corners of the side
inline void write_block(global uint *state, uint blocks, uint side, uint block, uint begin, uint size)
{
    global uint *runs = state, *runs_of = state + 2 * blocks, *ranges = state + 4 * blocks;
    vstore2((uint2)(begin, begin + size - 1), side * blocks + block, ranges);
    runs[side * blocks + block] = block;
    runs_of[side * blocks + block] = 1;
}
