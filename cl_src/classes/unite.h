// classes/unite.h: union-find with a forest of numbers, of which no parent is larger than its child; see coverage_unite.
inline uint find_root(volatile global uint *parents, uint one)
{
    uint parent = atomic_or(&parents[one], 0u);
    while (parent != one) {
        const uint above = atomic_or(&parents[parent], 0u);
        if (above != parent)
            atomic_min(&parents[one], above);
        one = parent;
        parent = above;
    }
    return one;
}

// Gives two numbers one root: the larger of their roots gets the smaller one as its parent.
inline void unite(volatile global uint *parents, uint a, uint b)
{
    while (1) {
        a = find_root(parents, a);
        b = find_root(parents, b);
        if (a == b)
            return;
        const uint larger = max(a, b), smaller = min(a, b);
        if (atomic_cmpxchg(&parents[larger], larger, smaller) == larger)
            return;
        a = larger;
        b = smaller;
    }
}
