"""Masks that outlines get wrong."""

import numpy as np

SHAPES = ("random", "comb", "spiral", "c", "pixels", "ring", "diagonal", "full")


def picture(name, size=24, seed=0):
    """A mask that outlines get wrong."""
    rng, mask = np.random.default_rng(seed), np.zeros((size, size + 3), bool)
    if name == "random":
        return rng.random(mask.shape) < 0.5
    if name == "comb":
        mask[2, :], mask[2:-1, ::3] = True, True
    elif name == "c":
        mask[3:-3, 3:-3] = True
        mask[8:-8, 8:] = False
    elif name == "spiral":
        row, column, steps = 1, 1, [(0, 1), (1, 0), (0, -1), (-1, 0)]
        for turn, length in enumerate(range(size - 3, 1, -2)):
            for _ in range(length):
                mask[row, column] = True
                row, column = (row + steps[turn % 4][0]) % size, (column + steps[turn % 4][1]) % size
    elif name == "pixels":
        mask[rng.integers(0, size, 9), rng.integers(0, size + 3, 9)] = True
    elif name == "ring":
        r = np.hypot(*np.ogrid[-11.5:12, -13:14])
        mask = (r < 11) & (r > 6) | (r < 2.5)
    elif name == "diagonal":
        mask[np.arange(size), np.arange(size)] = mask[np.arange(size), size - np.arange(size)] = True
    else:
        mask[:] = True
    return mask
