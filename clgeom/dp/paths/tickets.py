"""Whether groups of one launch may wait for each other on a device: probed once for each session.

A group takes the next piece of work by a ticket, and waits only for pieces that were taken before, by groups that run.
The probe finds out whether groups see what others have written while both run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core import launch
from clgeom.core.call import unrecorded
from clgeom.core.plan import Plan, Step
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.core.policies import Policy

KERNEL = "dp/paths/ticket_probe"
#: Rounds of the probe: in each, every group reads what another has written.
ROUNDS = 64
#: How often a group looks before it gives up: 0.1 to 0.5 s. A look is an atomic operation on global memory, which takes
#: up to a microsecond on a GPU, and some 20 ns on a CPU, where a group may lose its core for as long as others want it.
PATIENCE = {"cpu": 1 << 24, "gpu": 1 << 18}


def new_counters(session: Session, count: int) -> Any:
    """Memory of `count` zeros: the next ticket, and how far each piece is."""
    counters = launch.allocate(session, 4 * count)
    launch.fill(session, counters, np.int32(0), count)
    return counters


def patience(session: Session) -> np.int32:
    """Return the number of looks after which a group of this device gives up."""
    return np.int32(PATIENCE.get(session.profile.kind, PATIENCE["gpu"]))


def are_safe(session: Session) -> bool:
    """Return whether the groups of a launch on this device see each other's writes in order. Probed once."""
    return bool(session.cached(("tickets",), lambda: _probe(session)))


def _probe(session: Session) -> bool:
    policy = select(session.profile, KERNEL)
    groups = 4 * session.profile.compute_units + 1  # more than run at once on most devices
    words = np.full(2 * ROUNDS * policy.wg_size, -1, np.int32)
    buffers = {
        "progress": new_counters(session, 2 + groups),
        "passed": launch.allocate(session, words.nbytes),
    }
    launch.write(session, buffers["passed"], words)
    args = ("progress", "passed", np.int32(ROUNDS), patience(session))
    with unrecorded():
        launch.run(session, Plan(Step(KERNEL, policy, args, groups)), **buffers)
    faults = launch.read(session, buffers["progress"], np.int32, 1, 1 + groups)
    return not faults[0]


def require(session: Session, policy: Policy) -> None:
    """Raise `DeviceLimit` unless the groups of one launch, of a policy that asks for it, may wait for each other."""
    name = session.profile.name
    if policy.wg_size == 1:
        raise DeviceLimit(
            f"A TilePolicy with launches='single' needs groups of several work-items, and on {name} tiles go to one "
            f"each. Leave it at 'many'."
        )
    if not are_safe(session):
        raise DeviceLimit(
            f"A TilePolicy with launches='single' needs groups that see what others write while they run, and a probe "
            f"found that those of {name} do not. Leave it at 'many'."
        )
