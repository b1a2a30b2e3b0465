"""Whether a device's user should hear of ``clgeom tune``."""

from __future__ import annotations

from clgeom.core.families import all_rows
from clgeom.core.profile import DeviceProfile
from clgeom.core.stored_policies import all_stored
from clgeom.core.tuning import find_row

OFFER = (
    "clgeom has no measured work-group sizes for this GPU. 'clgeom tune --quick' tunes the kernels that matter most."
)


def is_unmeasured(profile: DeviceProfile) -> bool:
    """Whether a device is a GPU without any measured shape: no row of its name or architecture, and nothing stored.

    Examples
    --------
    >>> import clgeom
    >>> from clgeom.tuner.offer import is_unmeasured
    >>> profile = clgeom.default_session().profile
    >>> is_unmeasured(profile) and profile.kind != "gpu"
    False
    """
    if profile.kind != "gpu":
        return False
    steps = {find_row(profile, rows)[0] for rows in all_rows().values()}
    return steps.isdisjoint({"device", "architecture"}) and not all_stored(profile)
