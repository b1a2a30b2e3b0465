"""How much the tests try: profiles of Hypothesis, cases in CI, kernels that PoCL need not optimise.

CI builds all kernels anew, on few cores in few minutes. ``HYPOTHESIS_PROFILE=long`` tries everything.
"""

import os
import zlib

import hypothesis

from clgeom.core import build
from clgeom.core.families import rows_of
from clgeom.core.tuning import is_overridden

# Fixtures hold no state that an example could change, so examples may share them.
COMMON = {"deadline": None, "suppress_health_check": list(hypothesis.HealthCheck)}
hypothesis.settings.register_profile("default", max_examples=15, **COMMON)
hypothesis.settings.register_profile("ci", max_examples=4, derandomize=True, **COMMON)
hypothesis.settings.register_profile("long", max_examples=2000, **COMMON)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default")
#: Whether to try as much as possible, for however long it takes.
LONG = PROFILE == "long"
hypothesis.settings.load_profile(PROFILE)

#: CI runs one of so many cases of a test on a device, and at least one.
CASES_A_RUN = 20


def thinned(values, step):
    """Each `step`-th of a test's values in CI; all of them elsewhere."""
    return values[::step] if PROFILE == "ci" else values


def left_out_in_ci(items, *, slow=False) -> set:
    """Slow tests, but with `slow`; and most cases of a test on devices, in a mixed order that is the same each time."""
    cases = {}
    for item in items:
        if not {"session", "any_session"}.isdisjoint(getattr(item, "fixturenames", ())):
            cases.setdefault(item.function, []).append(item)
    gone = {item for item in items if item.get_closest_marker("slow") and not slow}
    for mine in cases.values():
        few = len(mine) <= CASES_A_RUN
        mine.sort(key=lambda item: (few and place_of_setting(item), zlib.crc32(item.nodeid.encode())))
        gone.update(mine[-(-len(mine) // CASES_A_RUN) :])
    return gone


def place_of_setting(item) -> int:
    """Tests of a file of which CI runs one case run it in the same setting, where they have that, and share kernels."""
    _, setting = item.callspec.params.get("any_session", (None, ""))
    return zlib.crc32(f"{item.path.name} {setting}".encode())


class QuickBuilds:
    """Lets PoCL build kernels without optimising them, which takes most of the time of tests with a cold cache.

    In a test with ``@pytest.mark.optimised`` it optimises those that CPUs run by themselves, and still none for groups
    of several work-items, in other shapes than CPUs take, and in sessions of devices that call themselves GPUs: these
    with ``@pytest.mark.optimised(groups=True)``. ``clgeom selftest`` and the long profile optimise all.

    Attributes
    ----------
    optimised, groups : bool
        Whether the test that runs has the mark, and with ``groups=True``.
    """

    def __init__(self):
        self.optimised = self.groups = False
        self.built = build._built

    def install(self):
        build._built = self

    def __call__(self, session, key):
        kernel, parameters, options = key
        imposed = not session.profile.is_cpu or is_overridden() or is_foreign(kernel, **dict(parameters))
        if session.own_profile.runtime == "pocl" and not (self.groups if imposed else self.optimised):
            key = kernel, parameters, (*options, "-cl-opt-disable")
        return self.built(session, key)


def is_foreign(kernel, variant=None, wg_size=1, **_):
    """Whether CPUs run a kernel in another shape by themselves."""
    if wg_size > 1 or variant != "group" or not rows_of(kernel):
        return wg_size > 1
    policy = rows_of(kernel).get("cpu", rows_of(kernel)["any"])
    return not callable(policy) and policy.variant != "group"
