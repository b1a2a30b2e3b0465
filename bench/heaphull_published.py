"""The figures of GPU heaphull's paper: milliseconds on a GTX 1050 Ti and its host for 1e4, 1e5 .. 1e8 points.

Table II is of the search for extreme points, III of normal points, V of points on a circle; IV has ratios of III. Its
figures 2, 3, 4 and 5 draw tables II to V.
"""

from __future__ import annotations

SIZES = tuple(10**k for k in range(4, 9))
PUBLISHED = {
    "II extreme points": {
        "heaphull": (0.046, 0.46, 5.012, 56.802, 793.742),
        "heaphull, parallel": (0.1, 0.4, 2.4, 18.0, 289.13),
        "GPU heaphull": (0.0433, 0.0814, 0.8505, 6.9785, 67.0598),
    },
    "III, IV normal": {
        "heaphull": (0.1201, 1.2014, 12.0824, 139.973, 2054.5416),
        "CudaChain": (6.4803, 12.093, 24.16, 224.2051, 1517.1612),
        "ConcurrentHull": (882.03, 902.07, 956.32, 1211.63, 2201.55),
        "GPU heaphull": (0.1575, 0.994, 7.0058, 35.1825, 464.8182),
    },
    "IV speedups, normal": {
        "heaphull": (0.7625, 1.2087, 1.7246, 3.9785, 4.4201),
        "CudaChain": (41.1448, 12.166, 3.4486, 3.5303, 3.2640),
        "ConcurrentHull": (5600.1905, 907.5151, 136.504, 34.4384, 4.7364),
    },
    "V circle": {
        "heaphull": (1.0153, 15.0671, 241.701, 5861.89, 95278.1),
        "CudaChain": (86.73, 112.568, 445.265, 6459.5251, 121426.0),
        "ConcurrentHull": (90.0223, 96.325, 1256.36, 6201.5522, 123045.2),
        "GPU heaphull": (1.64, 23.695, 427.075, 6104.58, 91559.8),
    },
}
#: From the text: milliseconds for 1e7 points on a circle with 2 % of distortion, and the speedup over the sequential
#: program. Without distortion that is 0.96, as in table V.
NOISE_MS, NOISE_SPEEDUP = 4973.3, 1.41
#: Per cent of points that the filter discards: (cloud, points) and the shares. For normal points there is a share of
#: 1e4 points, and an average of all sizes; CudaChain's are for 1e4 and 1e8.
SHARES = {
    ("normal", 10**4): {"GPU heaphull": 99.87, "CudaChain": 91.6},
    ("normal", 10**8): {"GPU heaphull": 99.99, "CudaChain": 98.86},
    ("noise", 10**8): {"GPU heaphull": 10.5},
}
