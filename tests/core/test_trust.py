"""Trials of devices: they find wrong results; verdicts are noted; a device that fails is refused and ranks last."""

import importlib
import inspect
import re
import sys
from dataclasses import replace
from pathlib import PurePosixPath
from types import SimpleNamespace

import numpy as np
import pytest
from calls import POINTS, hull

import clgeom
from clgeom import caches, quirks
from clgeom.core import device as runtime
from clgeom.core import sources, trust
from clgeom.core.cache import Cache
from clgeom.core.checks import TYPES, require
from clgeom.core.device import Session, as_session
from clgeom.core.policies import Policy
from clgeom.core.profile import describe
from clgeom.core.tuning import is_overridden, override, select
from clgeom.errors import DeviceError, DeviceLimit
from clgeom.hull import checks, convex
from clgeom.hull.policies import POLICIES
from clgeom.primitives import checks as primitives_checks
from clgeom.sorting import checks as sorting_checks

SOME = POINTS[:1100]


@pytest.fixture(autouse=True)
def few_points_by_kernels(monkeypatch):
    """Also on a CPU, where the host would take them."""
    monkeypatch.setattr(convex, "MOST_ON_HOST", 0)


TRIALS = trust.trials()
SIEVE, FEW_POINTS = checks.sieve, checks.few_points
#: Packages of extras, which a device can be tried without.
OPTIONAL = ("dask", "geopandas", "laspy", "matplotlib", "pandas", "pyarrow", "pyproj", "rasterio", "shapely", "xarray")


def types(session, trial):
    """The types that a trial is run with."""
    found = TYPES.values() if trial.by_type else (np.dtype("f4"),)
    return [dtype for dtype in found if session.profile.fp64 or dtype != np.float64]


@pytest.fixture
def trying(session, monkeypatch):
    """Trials called here are trials: no other ones come before."""
    monkeypatch.setattr(trust._trying, "now", True, raising=False)
    return session


@pytest.fixture
def fresh(session, tmp_path, monkeypatch):
    """A session, and a process, that know no verdicts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(trust, "_verdicts", {})
    monkeypatch.setattr(session, "trusted", set())
    monkeypatch.setattr(session.threads, "cache", Cache(), raising=False)
    yield session
    runtime.forget_order()


@pytest.fixture
def few(session):
    """The trial that a hull of few points needs first, and the kernel that it is for."""
    if session.profile.is_cpu:
        return SimpleNamespace(trial=FEW_POINTS, kernel="hull/sieve/tile_hull")
    return SimpleNamespace(trial=SIEVE, kernel="hull/sieve/tile_hoods")


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_a_device_that_computes_rightly_passes(trying, trial):
    for dtype in types(trying, trial):
        trial.run(trying, dtype)


@pytest.mark.slow
def test_trials_need_no_package_of_an_extra(monkeypatch):
    """Without one, a device that computes rightly would be refused."""
    monkeypatch.setattr(trust._trying, "now", True, raising=False)
    for package in OPTIONAL:
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("clgeom.optional.is_installed", lambda package: False)
    for trial in TRIALS:
        trial.run(clgeom.default_session())


@pytest.mark.settings("as_gpu")
@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_trials_are_right_on_other_devices(any_session, trial, monkeypatch):
    """So that no device is refused for its limits or shapes."""
    monkeypatch.setattr(trust._trying, "now", True, raising=False)
    trial.run(any_session, types(any_session, trial)[0])


class Wrong:
    """A result whose numbers are all off by one."""

    def __init__(self, result):
        self.result = result

    def __getattr__(self, name):
        value = getattr(self.result, name)
        return (lambda *args: off_by_one(value(*args))) if callable(value) else off_by_one(value)

    def __iter__(self):
        return map(off_by_one, self.result)


def off_by_one(value):
    if isinstance(value, (np.ndarray, int, float, np.generic)):
        return value + 1
    if isinstance(value, (tuple, list)):
        return [off_by_one(one) for one in value]
    if isinstance(value, dict):
        return {name: one if name == "type" else off_by_one(one) for name, one in value.items()}
    return Wrong(value)


def source_of(function):
    """The text of a function of a module of checks, and of those of its module that it calls."""
    own, source = vars(sys.modules[function.__module__]), inspect.getsource(function)
    called = [own.get(name) for name in dict.fromkeys(re.findall(r"\b(\w+)\(", source))]
    helpers = [one for one in called if inspect.isfunction(one) and one.__module__ == function.__module__]
    return source + "".join(source_of(one) for one in helpers if one is not function)


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_trials_find_wrong_results(trying, trial, monkeypatch):
    """Each result of a public function is wrong, one after the other."""
    computing = (
        {"run", "fill", "fill_batch", "values", "lcs", "edit_distance"}
        | set(clgeom.__all__)
        | {"partition", "exclusive_scan", "inclusive_scan", "sort", "free_space", "trace_arcs", "steps_of", "blocks"}
    )
    source, calls, wrong = source_of(trial.function), [], None

    def watched(function):
        def call(*args, **options):
            result = function(*args, **options)
            if not sys._getframe(1).f_globals["__name__"].endswith(".checks"):
                return result
            calls.append(function.__name__)
            return off_by_one(result) if len(calls) - 1 == wrong else result

        return call

    for module, names in re.findall(r"^    from (clgeom\S+) import ([^(]*?)$", source, flags=re.MULTILINE):
        for name in computing & set(names.split(", ")):
            monkeypatch.setattr(f"{module}.{name}", watched(getattr(importlib.import_module(module), name)))
    own = sys.modules[trial.function.__module__]
    ours = [(name, one) for name, one in vars(own).items() if getattr(one, "__name__", "").startswith("clgeom.")]
    for alias, module in ours:
        for name in computing & set(re.findall(rf"\b{alias}\.(\w+)\(", source)) & set(dir(module)):
            monkeypatch.setattr(module, name, watched(getattr(module, name)))
    for name in computing & set(vars(own)) & set(re.findall(r"\b(\w+)\(", source)):
        monkeypatch.setattr(own, name, watched(getattr(own, name)))
    trial.run(trying)
    count = len(calls)
    assert count
    attempt = trust._attempt
    monkeypatch.setattr(trust, "_attempt", lambda *args: (calls.clear(), attempt(*args))[1])
    for wrong in range(count):  # noqa: B007 - `watched` reads it
        assert not trust._try(trying, trial, np.dtype(np.float32)), f"{wrong} of {count}"


def test_every_kernel_has_a_trial():
    without = [kernel for kernel in sources.kernels() if trust._trial_of(kernel) is None]
    assert without == ["hull/orient2d_signs"]  # which has its witnesses
    named = {kernel for trial in TRIALS for kernel in trial.before}
    folders = {str(folder) for kernel in sources.kernels() for folder in PurePosixPath(kernel).parents}
    assert {name.removesuffix(" payload") for name in named} <= folders | set(sources.kernels())


def test_which_trials_a_kernel_needs():
    always = (trust.first_trial(), None)
    key = ("hull/sieve/sieve", (("real", "double"), ("bins", 3)), ())
    assert trust._needed(key) == {always, (SIEVE, np.dtype(np.float64))}
    assert trust._needed(("hull/sieve/tile_hull", (("real", "int"),), ())) == {
        always,
        (FEW_POINTS, np.dtype(np.int32)),
    }
    assert trust._needed(("hull/orient2d_signs", (("real", "int"),), ())) == {always}
    for kernel, params, name in (
        ("radix_count", (), "radix"),
        ("radix_scatter", (("payload", ""),), "radix"),
        ("radix_scatter", (("payload", "index"),), "payloads"),
        ("radix_onesweep", (("payload", "carry"),), "payloads"),
        ("radix_segments", (("payload", "index"),), "segments"),
    ):
        trial = getattr(sorting_checks, name)
        assert trust._needed((f"sorting/radix/{kernel}", params, ())) == {always, (trial, None)}
        assert f"sorting/radix/{kernel}" in trust._kernels_of(trial)


# Verdicts -------------------------------------------------------------------------------------------------------


def counted(monkeypatch, trial, right=True):
    """Let a trial count its calls instead, and end as it shall."""
    calls = []

    def run(session, dtype=None):
        calls.append((session, dtype))
        require(right, "as it shall")

    replaced(monkeypatch, trial, run)
    return calls


def replaced(monkeypatch, trial, function):
    """Let a trial call a function instead, and keep its name."""
    function.__module__, function.__name__ = trial.function.__module__, trial.function.__name__
    monkeypatch.setattr(trial, "function", function)


def test_a_verdict_is_noted_for_later_processes(fresh, few, monkeypatch):
    calls = counted(monkeypatch, few.trial)
    for _ in range(2):
        clgeom.convex_hull(SOME, device=fresh)
    assert calls == [(fresh, np.dtype(np.float32))]
    noted = caches.noted(trust.NOTE)[trust.describe_driver(fresh.profile)]
    assert noted[f"{few.trial.name} float32"] == [trust._digest(few.trial, fresh.profile), True]
    for verdicts, more in (({}, 0), ({}, 0)):  # other processes, with sessions of their own
        monkeypatch.setattr(trust, "_verdicts", verdicts)
        clgeom.convex_hull(SOME, device=Session(fresh.device))
        assert len(calls) == 1 + more
    clgeom.convex_hull(SOME.astype(np.int32), device=fresh)
    assert [dtype.name for _, dtype in calls] == ["float32", "int32"]


def test_other_kernels_or_another_driver_are_tried_again(fresh, monkeypatch, forget_digests):
    calls = counted(monkeypatch, FEW_POINTS)
    assert trust.passes(fresh, FEW_POINTS) and trust.passes(fresh, FEW_POINTS) and len(calls) == 1
    digest = trust._digest(FEW_POINTS, fresh.profile)
    monkeypatch.setattr(trust, "_verdicts", {})
    monkeypatch.setitem(POLICIES, "hull/sieve/tile_hull", {"any": Policy("serial", wg_size=1, items_per_thread=7)})
    forget_digests()
    assert trust._digest(FEW_POINTS, fresh.profile) != digest
    assert trust.passes(fresh, FEW_POINTS) and len(calls) == 2
    profile = fresh.profile
    assert trust.describe_driver(profile) != trust.describe_driver(replace(profile, driver="next"))
    assert trust.describe_driver(profile) == trust.describe_driver(replace(profile, max_alloc_bytes=1))


@pytest.fixture
def forget_digests():
    """Forget what is known of sources and policies, now and after the test."""

    def forget():
        for cached in (sources.digest, sources._included):
            cached.cache_clear()

    yield forget
    forget()


def test_digests_follow_the_sources(session, monkeypatch, forget_digests):
    digests = {}
    for text in ("// one", "// two"):
        forget_digests()
        monkeypatch.setattr(sources, "header", lambda name, text=text: text)
        digests[text] = {trial: trust._digest(trial, session.profile) for trial in TRIALS}
    for trial in TRIALS:
        texts = [sources.template(kernel) for kernel in trust._kernels_of(trial)]
        assert texts and (digests["// one"][trial] != digests["// two"][trial]) == any("#include" in t for t in texts)
    assert len(set(digests["// one"].values())) == len(TRIALS)


def test_digests_are_those_of_other_processes(session, monkeypatch, forget_digests):
    """No digest has an address in it, as that of a function in the table of policies."""

    def row():
        return lambda profile, dtype, n: Policy("serial", wg_size=1)

    digests = {}
    for made in (row(), row()):
        monkeypatch.setitem(POLICIES, "hull/sieve/tile_hull", {"any": made})
        forget_digests()
        digests[made] = trust._digest(FEW_POINTS, session.profile)
    assert len(digests) == 2 and len(set(digests.values())) == 1


def test_a_cache_that_cannot_be_written_is_no_error(fresh, few, monkeypatch):
    calls = counted(monkeypatch, few.trial)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/x")
    for _ in range(2):
        clgeom.convex_hull(SOME, device=Session(fresh.device))
    assert len(calls) == 1


@pytest.mark.parametrize("noted", ("[]", '{"%s": {" ": [1, false]}}', '{"%s": 3}', '{"%s": {"%t float32": 1}}', "{"))
def test_damaged_notes_are_not_believed(fresh, few, monkeypatch, noted):
    calls = counted(monkeypatch, few.trial)
    caches.folder().mkdir(parents=True)
    (caches.folder() / f"{trust.NOTE}.json").write_text(
        noted.replace("%s", trust.describe_driver(fresh.profile)).replace("%t", few.trial.name)
    )
    assert not trust.is_refused(fresh.profile)
    clgeom.convex_hull(SOME, device=fresh)
    assert len(calls) == 1


def test_limits_are_imposed_on_sessions_not_on_trials(fresh, few, monkeypatch):
    calls = counted(monkeypatch, few.trial)
    limited = Session(fresh.device, max_alloc_bytes=1 << 20, fp64=False)
    clgeom.convex_hull(SOME, device=limited)
    assert [session.profile for session, _ in calls] == [describe(fresh.device)]


def test_trials_run_without_the_callers_policies(fresh, few, monkeypatch):
    seen = []

    def look(session, dtype):
        seen.append((is_overridden(), select(session.profile, few.kernel)))

    replaced(monkeypatch, few.trial, look)
    plain = select(fresh.profile, few.kernel)
    with override({few.kernel: replace(plain, items_per_thread=max(plain.items_per_thread // 2, 1))}):
        clgeom.convex_hull(SOME, device=fresh)
    assert seen == [(False, plain)]


def test_kernels_of_a_trial_are_not_kept(fresh, monkeypatch):
    """The trial of batches uses kernels of other families, whose own trials are still to come."""
    assert trust.passes(fresh, checks.batches)
    assert not fresh.thread_cache._by_kind and not fresh.trusted
    calls = counted(monkeypatch, primitives_checks.scans)
    clgeom.heaphull_filter(SOME, device=fresh)
    assert len(calls) == 1


# Refusal --------------------------------------------------------------------------------------------------------


def test_a_device_that_computes_wrongly_is_refused(fresh, few, monkeypatch):
    counted(monkeypatch, few.trial, right=False)
    for _ in range(2):
        with pytest.raises(DeviceError) as caught:
            clgeom.convex_hull(SOME, device=fresh)
        text, profile = str(caught.value), fresh.profile
        named = f"The device {profile.name} ({profile.platform}, driver {profile.driver}) computes wrongly: "
        assert text.startswith(f"{named}it failed the trial '{few.trial.name[5:]}' of clgeom.hull")
        assert "CLGEOM_DEVICE" in text and "\n" not in text
        assert trust.is_refused(profile)
        monkeypatch.setattr(trust, "_verdicts", {})  # another process
    assert clgeom.sort([2, 1], device=fresh).tolist() == [1, 2]  # another family, whose trial it passes


@pytest.mark.parametrize("error", (ValueError("garbage"), IndexError(), OverflowError()))
def test_whatever_comes_of_garbage_is_wrong(fresh, few, monkeypatch, error):
    """If it comes again, from clgeom or what it calls."""
    tries = []

    def fails(session, dtype):
        tries.append(session)
        raise error

    replaced(monkeypatch, few.trial, in_clgeom(fails))
    with pytest.raises(DeviceError, match="computes wrongly") as caught:
        clgeom.convex_hull(SOME, device=fresh)
    assert len(tries) == 2 and f"{trust.NOTE}.json" in str(caught.value)


def in_clgeom(function):
    """A function that ends in one of clgeom's frames."""
    scope = {"__name__": "clgeom.made_up", "function": function}
    exec(
        "def inner(*args):\n    try:\n        return function(*args)\n    except BaseException as e:\n"
        "        raise e.with_traceback(None)",
        scope,
    )
    return scope["inner"]


@pytest.mark.parametrize("error, ours", ((MemoryError("full"), True), (TimeoutError("of the caller"), False)))
def test_what_interrupts_a_trial_is_no_verdict(fresh, few, monkeypatch, error, ours):
    """Missing memory, and what a signal handler of the caller raises, reach the caller; nothing is noted."""

    def fails(session, dtype):
        raise error

    with monkeypatch.context() as patched:
        replaced(patched, few.trial, in_clgeom(fails) if ours else fails)
        with pytest.raises(type(error), match=str(error)):
            clgeom.convex_hull(SOME, device=fresh)
    assert not trust.is_refused(fresh.profile)
    assert hull(clgeom.convex_hull(SOME, device=fresh))


@pytest.mark.parametrize("depth", range(0, 400, 25))
def test_a_recursion_that_is_too_deep_is_no_verdict(fresh, few, depth):
    """A call near the limit raises what the caller can understand, and the device stays as it is."""

    def deep(left):
        return deep(left - 1) if left else clgeom.convex_hull(SOME, device=fresh)

    def called_from_here(limit):
        sys.setrecursionlimit(limit)
        try:
            return deep(0)
        except RecursionError:
            return None
        finally:
            sys.setrecursionlimit(before)

    before, frames = sys.getrecursionlimit(), len(inspect.stack(0))
    found = called_from_here(frames + 30 + depth)
    assert found is None or hull(found)
    assert not trust.is_refused(fresh.profile) and False not in trust._verdicts.values()
    assert hull(clgeom.convex_hull(SOME, device=fresh))


@pytest.mark.parametrize("wrong", (False, IndexError))
def test_a_trial_that_failed_once_is_tried_again(fresh, few, monkeypatch, wrong):
    """numpy.array_equal answers False when a signal handler raises within it."""
    tries = []

    def once(session, dtype):
        tries.append(session)
        if len(tries) == 1 and wrong:
            raise wrong
        require(len(tries) > 1, "once")

    replaced(monkeypatch, few.trial, in_clgeom(once))
    assert hull(clgeom.convex_hull(SOME, device=fresh)) and len(tries) == 2


def test_a_driver_that_fails_in_a_trial_gets_no_verdict(fresh, few, monkeypatch):
    def fails(session, dtype):
        raise DeviceLimit("no memory")

    with monkeypatch.context() as patched:
        replaced(patched, few.trial, fails)
        with pytest.raises(DeviceLimit, match="no memory"):
            clgeom.convex_hull(SOME, device=fresh)
    assert not trust.is_refused(fresh.profile)
    assert hull(clgeom.convex_hull(SOME, device=fresh))


def test_a_refused_device_ranks_last(fresh, monkeypatch):
    slow = replace(describe(fresh.device), name="slow", kind="cpu", compute_units=1)
    fast, gpu = replace(slow, name="fast", compute_units=64), replace(slow, name="gpu", kind="gpu")
    platform = SimpleNamespace(get_devices=lambda: [slow, gpu, fast])
    monkeypatch.setattr(runtime, "all_platforms", lambda: [platform])
    monkeypatch.setattr(runtime, "describe", lambda profile: profile)
    assert runtime._ranked.__wrapped__() == (gpu, fast, slow)
    digest = trust._digest(sorting_checks.radix, fast)
    trust._keep(gpu, "sorting.radix", [digest, False])
    assert runtime._ranked.__wrapped__() == (fast, slow, gpu)
    trust._keep(fast, "sorting.radix", [digest, True])
    assert runtime._ranked.__wrapped__() == (fast, slow, gpu)
    trust._keep(gpu, "sorting.radix", ["of other kernels", False])
    assert runtime._ranked.__wrapped__() == (gpu, fast, slow)


def test_nobody_gets_a_device_unasked_that_fails_the_shortest_trial(fresh, monkeypatch):
    good, bad = SimpleNamespace(name="good"), SimpleNamespace(name="bad")
    monkeypatch.setattr(runtime, "as_session", lambda device: device)
    monkeypatch.setattr(runtime, "describe", lambda device: device)
    monkeypatch.setattr(trust, "verdict", lambda device, profile, trial: None)
    monkeypatch.setattr(trust, "passes", lambda device, trial: device is good)
    assert runtime._first_right((bad, good)) is good and runtime._first_right((good, bad)) is good
    assert runtime._first_right((bad,)) is bad  # there is no other: it says so where it is used

    def broken(device):
        raise DeviceError("it does not open")

    monkeypatch.setattr(runtime, "as_session", broken)
    assert runtime._first_right((bad, good)) is bad
    monkeypatch.setattr(trust, "verdict", lambda device, profile, trial: device is good)
    assert runtime._first_right((bad, good)) is good  # none is opened


def test_the_default_device_is_chosen_anew_after_a_refusal(fresh, few, monkeypatch):
    monkeypatch.delenv("CLGEOM_DEVICE", raising=False)
    before = as_session(None)
    assert runtime._sessions[None] is before
    counted(monkeypatch, few.trial, right=False)
    with pytest.raises(DeviceError):
        clgeom.convex_hull(SOME, device=fresh)
    assert None not in runtime._sessions


def test_what_is_remembered(fresh, monkeypatch, forget_digests):
    """Only what was right, of these kernels, of a session without limits."""
    answers, asked = [False, True], []

    def ask():
        asked.append(is_overridden())
        return answers[min(len(asked), 2) - 1]

    def known(session=fresh):
        return trust.holds(session, "a thing", "hull/orient2d_signs", ask)

    assert not known() and known() and known() and len(asked) == 2
    assert known(Session(fresh.device, max_wg_size=2)) and len(asked) == 3
    with override({"hull/orient2d_signs": Policy("serial", wg_size=1)}):
        assert known(Session(fresh.device, max_wg_size=2)) and len(asked) == 4 and not any(asked)
        assert known() and len(asked) == 4
    monkeypatch.setattr(sources, "header", lambda name: "// another")
    forget_digests()
    assert known() and known() and len(asked) == 5
    for times, name in enumerate(quirks.BUILD_VARIABLES, 6):  # fast arithmetic gives orient2d other signs
        monkeypatch.setenv(name, "-cl-fast-relaxed-math")
        assert known() and known() and len(asked) == times
