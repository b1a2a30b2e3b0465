"""Policies of the kernels of radio maps: their shapes on each device, and the shapes that `clgeom tune` tries."""

from __future__ import annotations

from clgeom.core.policies import Policy, Rows
from clgeom.core.spaces import ELEMENTWISE_GPU, Space, elementwise, group, serial

POLICIES: dict[str, Rows] = {
    "radio/path_loss": {
        # H200, 1e7 distances: a work-item for each 152 us, 8, 16 or 32 groups a unit 100 89 89
        "sm_90": Policy("group", wg_size=256, groups_per_unit=32),
        "cpu": Policy("serial", wg_size=1, items_per_thread=1024, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
    "radio/diffraction": {
        "cpu": Policy("group", wg_size=1, items_per_thread=64, groups_per_unit=32),
        "any": Policy("group", wg_size=256),
    },
    "radio/best_server": {
        "cpu": Policy("serial", wg_size=1, items_per_thread=1024, groups_per_unit=4),
        "any": Policy("group", wg_size=256),
    },
}

SPACES: dict[str, Space] = {
    "radio/path_loss": elementwise("coverage map"),
    "radio/diffraction": Space(
        ("loss over terrain",),
        (group((1,), (16, 64, 256), (2, 8, 32)), group((4, 16, 64), (16,), (2, 8, 32))),
        ELEMENTWISE_GPU,
    ),
    "radio/best_server": Space(  # on CPUs, groups round other than one work-item
        ("best server",), (serial((128, 512, 2048), (1, 2, 4, 16)),), ELEMENTWISE_GPU
    ),
}
