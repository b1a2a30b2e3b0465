"""The shapes that ``clgeom tune`` tries for a kernel, and the cases to measure them with.

A product gives the values to try for fields of a policy; other fields are those of the kernel's present policy::

    {"wg_size": (64, 128), "items_per_thread": (4, 8)}     four candidates

The spaces stand beside the rows in the module of policies of each family; the cases are in `clgeom.tuner.cases`. A
kernel without a space takes less than 5 % of every case.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from clgeom.core.families import all_spaces, require_shape
from clgeom.core.policies import Policy

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile

#: Values to try, by the name of a field of a policy.
Product: TypeAlias = dict[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Space:
    """The shapes to try for a kernel on CPUs and other devices, the cases that show its time, and their types."""

    cases: tuple[str, ...]
    cpu: tuple[Product, ...] = ()
    gpu: tuple[Product, ...] = ()
    by_itemsize: bool = False

    def products(self, profile: DeviceProfile) -> tuple[Product, ...]:
        """Return the products for a device."""
        return self.cpu if profile.is_cpu else self.gpu


def candidates(profile: DeviceProfile, kernel: str, present: Policy) -> list[Policy]:
    """Return the legal shapes in a kernel's space that fit the device, without the present one, in their order."""
    space = all_spaces().get(kernel)
    found: dict[Policy, None] = {}
    for product in space.products(profile) if space else ():
        for values in itertools.product(*product.values()):
            try:
                policy = replace(present, **dict(zip(product, values)))
                require_shape(kernel, policy)
            except ValueError:  # a combination that no kernel has
                continue
            if policy.wg_size <= profile.max_wg_size and policy != present:
                found[policy] = None
    return list(found)


def serial(items: tuple[int, ...] = (512,), groups: tuple[int, ...] = (4,)) -> Product:
    """Return a work-item for each tile, alone."""
    return {"variant": ("serial",), "wg_size": (1,), "items_per_thread": items, "groups_per_unit": groups}


def group(sizes: tuple[int, ...], items: tuple[int, ...] = (1,), groups: tuple[int, ...] = (0,)) -> Product:
    """Groups of several work-items."""
    return {"variant": ("group",), "wg_size": sizes, "items_per_thread": items, "groups_per_unit": groups}


#: Kernels whose work-items stride over all elements, in any number. CPUs compile groups into vectors, too.
ELEMENTWISE_CPU = (serial(groups=(1, 2, 4, 16)), group((16, 64, 256), (8,), (2, 16)))
ELEMENTWISE_GPU = (group((64, 128, 256, 512)), group((128, 256, 512), (4,)), group((128, 256), (1,), (8, 16, 32)))
#: Groups per compute unit of serial kernels whose tiles have a fixed size.
SERIAL_GROUPS = (serial((1,), (1, 2, 3, 4, 6, 8, 12, 16, 32)),)
#: Work-group sizes of kernels without a serial variant.
SIZES = (group((8, 16, 32, 64, 128, 256, 512, 1024)),)


def elementwise(*cases: str) -> Space:
    """Return the space of a kernel whose work-items stride over all elements."""
    return Space(cases, ELEMENTWISE_CPU, ELEMENTWISE_GPU)


def tilewise(*cases: str) -> Space:
    """Return the space of a kernel whose groups take tiles of a fixed size."""
    return Space(cases, SERIAL_GROUPS, (group((64, 128, 256, 512), (1,), (0, 8, 16, 32)),))
