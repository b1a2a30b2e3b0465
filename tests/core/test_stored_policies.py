"""The store of measured policies: what is kept, found again, refused, and written by several at once."""

import errno
import itertools
import json
import os
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import imaginary

from clgeom.core import sources, stored_policies, trust, tuning
from clgeom.core.policies import Policy
from clgeom.core.stored_policies import (
    all_stored,
    forget,
    forget_stale,
    kernel_hash,
    reload_store,
    store_path,
    store_policy,
)
from clgeom.dp.policies import StagePolicy, TilePolicy
from clgeom.errors import DeviceWarning, InvalidInput
from clgeom.sequences.policies import PairsPolicy

SCAN, STAGE, PAIRS = "primitives/scan_tiles", "dp/paths/fill_stage", "sequences/align_pairs"
GPU = imaginary()
FOUND = Policy("group", wg_size=512, items_per_thread=7)
MEASURED = {"case": "some call", "default_ms": 2.0, "policy_ms": 1.5}


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    """The file of an empty store."""
    monkeypatch.setenv("CLGEOM_DATA_DIR", str(tmp_path / "data"))
    reload_store()
    yield tmp_path / "data" / "policies.json"
    reload_store()


def chosen(profile=GPU, kernel=SCAN, dtype=None):
    """What a new process selects, and the warnings it gives in two looks."""
    reload_store()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        policies = {tuning.select(profile, kernel, dtype) for _ in range(2)}
        all_stored(profile)
    assert len(policies) == 1 and all(one.category is DeviceWarning for one in said)
    return policies.pop(), [str(one.message) for one in said]


def is_shipped(profile=GPU, kernel=SCAN):
    policy, said = chosen(profile, kernel)
    assert policy == tuning.shipped_policy(profile, kernel)
    assert len(said) == 1 and said[0].endswith("Run 'clgeom tune' again; until then shipped policies are used.")
    return said[0]


# Kept and found -------------------------------------------------------------------------------------------------


def test_store_path(monkeypatch, tmp_path):
    assert store_path() == tmp_path / "data" / "policies.json"
    monkeypatch.delenv("CLGEOM_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert store_path().name == "policies.json" and store_path().parent.name == "clgeom"
    assert sys.platform != "linux" or store_path().parent.parent == tmp_path


def test_nothing_is_stored_at_first(store):
    assert chosen() == (tuning.shipped_policy(GPU, SCAN), []) and all_stored(GPU) == {} and forget(GPU) == 0
    assert not store.parent.exists()


@pytest.mark.parametrize(
    "kernel, policy",
    [
        (SCAN, FOUND),
        (SCAN, Policy("serial", wg_size=1, groups_per_unit=3)),
        (STAGE, StagePolicy("group", wg_size=64, layout="ROWS")),
        ("dp/paths/tile_sweep", TilePolicy("group", wg_size=64, steps=96, block_rows=8)),
        (PAIRS, PairsPolicy("group", wg_size=32, items_per_thread=12, cells="int")),
    ],
)
def test_what_is_kept_is_selected(store, kernel, policy):
    store_policy(GPU, kernel, policy, measured=MEASURED)
    assert chosen(kernel=kernel) == (policy, []) and all_stored(GPU) == {(kernel, None): policy}
    (entry,) = json.loads(store.read_text())["policies"]
    assert entry["device"] == {name: getattr(GPU, name) for name in ("name", "platform", "kind", "version", "driver")}
    assert entry["kernel_hash"] == kernel_hash(kernel) and entry["measured"].items() > MEASURED.items()
    assert stored_policies.stored_by_itemsize(GPU, kernel)[None].measured == entry["measured"]
    with tuning.override({kernel: replace(policy, groups_per_unit=9)}):
        assert tuning.select(GPU, kernel).groups_per_unit == 9
    for other in (replace(GPU, name="Another"), replace(GPU, platform="Another"), replace(GPU, kind="accelerator")):
        assert chosen(other, kernel) == (tuning.shipped_policy(other, kernel), [])


def test_policies_for_types():
    wide = replace(FOUND, items_per_thread=3)
    store_policy(GPU, SCAN, FOUND, measured={})
    store_policy(GPU, SCAN, wide, dtype=np.float64, measured={})
    for dtype, expected in ((None, FOUND), (np.float32, FOUND), (np.float64, wide), (np.int64, wide)):
        assert chosen(dtype=dtype and np.dtype(dtype)) == (expected, [])
    assert all_stored(GPU) == {(SCAN, None): FOUND, (SCAN, 8): wide}
    assert forget(GPU) == 2
    store_policy(GPU, SCAN, wide, dtype=np.float64, measured={})
    assert chosen(dtype=np.dtype("f4"))[0] == tuning.shipped_policy(GPU, SCAN)


def test_the_last_one_kept_counts(store):
    for items in (1, 2, 3):
        store_policy(GPU, SCAN, replace(FOUND, items_per_thread=items), measured={})
    assert chosen()[0].items_per_thread == 3 and len(json.loads(store.read_text())["policies"]) == 1


def test_forget():
    cpu = replace(GPU, kind="cpu")
    for profile in (GPU, cpu, replace(GPU, driver="old")):
        for kernel in (SCAN, "primitives/scan_totals"):
            store_policy(profile, kernel, FOUND, measured={})
    assert forget(GPU, ["primitives/set_value"]) == 0
    assert forget(GPU, [SCAN]) == 2 and chosen()[0] == tuning.shipped_policy(GPU, SCAN)
    assert forget(GPU) == 2
    reload_store()
    assert all_stored(GPU) == {}
    assert len(all_stored(cpu)) == 2


def test_a_process_reads_once(store):
    store_policy(GPU, SCAN, FOUND, measured={})
    assert chosen()[0] == FOUND
    store.unlink()
    assert tuning.select(GPU, SCAN) == FOUND  # so that plans of one process agree
    reload_store()
    assert tuning.select(GPU, SCAN) != FOUND


def test_the_store_is_switched_off(monkeypatch):
    store_policy(GPU, SCAN, FOUND, measured={})
    monkeypatch.setenv("CLGEOM_POLICIES", "shipped")
    assert chosen() == (tuning.shipped_policy(GPU, SCAN), [])
    monkeypatch.setenv("CLGEOM_POLICIES", "mine")
    reload_store()
    with pytest.raises(InvalidInput, match="CLGEOM_POLICIES must be 'shipped' .*, 'tuned' or unset. Got 'mine'"):
        tuning.select(GPU, SCAN)
    for value in ("", "tuned"):
        monkeypatch.setenv("CLGEOM_POLICIES", value)
        assert chosen() == (FOUND, [])


def test_an_imposed_smaller_device_is_no_reason_to_exceed_it():
    store_policy(GPU, SCAN, FOUND, measured={})
    small = replace(GPU, max_wg_size=64)
    assert "groups of 512 do not fit the device, which allows 64" in is_shipped(small)
    assert tuning.select(small, SCAN).wg_size == 64


def test_trials_are_run_again_with_other_policies():
    trial = next(one for one in trust.trials() if one.before == ("primitives",))
    digests = set()
    for items in (0, 1, 2):
        if items:
            store_policy(GPU, SCAN, replace(FOUND, items_per_thread=items), measured={})
        reload_store()
        digests.add(trust._digest(trial, GPU))
    assert len(digests) == 3


# Not used -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "is damaged"),
        ('{"version": 1, "policies": [', "is damaged"),
        ("[]", "is damaged"),
        ('{"version": 1}', "is damaged"),
        ('{"version": 1, "policies": {}}', "is damaged"),
        ("[" * 100_000, "is damaged"),
        ('{"version": 1, "policies": ' + '{"a":' * 50_000, "is damaged"),
        ('{"version": 1, "policies": [], "policies": []}', "is damaged"),
        ('{"version": 1, "policies": [{"measured": NaN}]}', "is damaged"),
        ('{"version": -Infinity, "policies": []}', "is damaged"),
        ('{"version": 1, "policies": [' + "9" * 5_000 + "]}", "is damaged"),
        (" " * (stored_policies.MOST_BYTES + 1), "cannot be read .it has more than 16 MiB"),
        (b"\xff\xfe\x00", "cannot be read .it is no text"),
        ('{"version": 7}', "has the version 7, not 1"),
        ('{"version": 2, "policies": []}', "has the version 2, not 1"),
        ('{"policies": []}', "has the version None, not 1"),
        ('{"version": 1, "policies": [5]}', "Some tuned policies are not used: the file .* is damaged"),
        ('{"version": 1, "policies": [{"kernel": [], "device": {}, "itemsize": null}]}', "is damaged"),
        ('{"version": 1, "policies": [{"kernel": "a", "device": {}, "itemsize": {}}]}', "is damaged"),
    ],
)
def test_files_that_are_none(store, text, reason):
    store.parent.mkdir()
    store.write_bytes(text if isinstance(text, bytes) else text.encode())
    said = is_shipped()
    assert str(store) in said and re.search(reason, said)
    store_policy(GPU, SCAN, FOUND, measured={})
    assert chosen() == (FOUND, [])


def no_file(path, kind):
    """Make something that is no regular file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "hole":  # of 2 GB
        with open(path, "wb") as file:
            file.truncate(1 << 31)
    elif kind == "secret":
        path.write_text("{}")
        path.chmod(0)
    else:
        path.symlink_to({"loop": path, "endless": "/dev/zero", "terminal": "/dev/ptmx", "nowhere": "/dev/zero/x"}[kind])


@pytest.mark.skipif(os.name != "posix", reason="POSIX has such files")
@pytest.mark.parametrize("kind", ["pipe", "folder", "hole", "secret", "loop", "endless", "terminal", "nowhere"])
def test_what_is_no_file(store, kind):
    """It neither blocks nor fills the memory, and the next policy that is kept replaces it."""
    store.parent.mkdir()
    no_file(store, kind)
    if kind == "secret" and os.access(store, os.R_OK):
        pytest.skip("this user may read everything")
    assert re.search(
        "cannot be read .(it is no regular file|it has more than|Permission|Too many|Not a dir)", is_shipped()
    )
    store_policy(GPU, SCAN, FOUND, measured={})
    assert chosen() == (FOUND, []) and not store.is_symlink()
    assert kind != "loop" or store.with_suffix(".old.json").is_symlink()


def rewritten(store, **changed):
    """Change the only entry of a store, and make its digest right."""
    content = json.loads(store.read_text())
    (entry,) = content["policies"]
    entry.update(changed)
    entry["digest"] = stored_policies._digest(entry)
    store.write_text(json.dumps(content))


FIELDS = {"variant": "group", "wg_size": 512, "items_per_thread": 7, "groups_per_unit": 0}


@pytest.mark.parametrize(
    "changed, reason",
    [
        ({"fields": {**FIELDS, "wg_size": 3}}, "wg_size must be a power of two, not 3"),
        ({"fields": {**FIELDS, "wg_size": -512}}, "wg_size must be a power of two, not -512"),
        ({"fields": {**FIELDS, "wg_size": 1 << 40}}, "groups of 1099511627776 do not fit"),
        ({"fields": {**FIELDS, "items_per_thread": 0}}, "items_per_thread must be in 1 .. "),
        ({"fields": {**FIELDS, "items_per_thread": 1 << 40}}, "items_per_thread must be in 1 .. "),
        ({"fields": {**FIELDS, "groups_per_unit": -1}}, "groups_per_unit in 0 .. "),
        ({"fields": {**FIELDS, "groups_per_unit": 1 << 40}}, "groups_per_unit in 0 .. "),
        ({"fields": {**FIELDS, "variant": "warp"}}, "variant must be"),
        ({"fields": {**FIELDS, "wg_size": 2048}}, "groups of 2048 do not fit the device, which allows 1024"),
        ({"fields": {**FIELDS, "wg_size": "512"}}, "it is damaged"),
        ({"fields": {**FIELDS, "wg_size": 512.0}}, "it is damaged"),
        ({"fields": {**FIELDS, "groups_per_unit": True}}, "it is damaged"),
        ({"fields": {**FIELDS, "more": 1}}, "it is damaged"),
        ({"fields": {"wg_size": 512}}, "it is damaged"),
        ({"fields": []}, "it is damaged"),
        ({"class": "TilePolicy"}, "it is damaged"),
        ({"measured": 5}, "it is damaged"),
        ({"kernel_hash": None}, "the kernel has changed since"),
        ({"kernel_hash": "0" * 32}, "the kernel has changed since"),
    ],
)
def test_entries_that_must_not_be_used(store, changed, reason):
    store_policy(GPU, SCAN, FOUND, measured=MEASURED)
    rewritten(store)
    assert chosen() == (FOUND, [])
    rewritten(store, **changed)
    said = is_shipped()
    assert f"The tuned policy of {SCAN} for Imaginary 9000 is not used: " in said and reason in said


def test_other_kernels(store, monkeypatch):
    store_policy(GPU, SCAN, FOUND, measured={})
    monkeypatch.setattr(sources, "digest", lambda kernel: "of another text")
    assert "the kernel has changed since" in is_shipped()
    monkeypatch.undo()
    monkeypatch.setenv("CLGEOM_DATA_DIR", str(store.parent))
    assert chosen() == (FOUND, [])
    rewritten(store, kernel="primitives/of_before")
    assert chosen()[0] == tuning.shipped_policy(GPU, SCAN)
    with pytest.warns(DeviceWarning, match="kernels that are gone are not used .*primitives/of_before"):
        reload_store()
        assert all_stored(GPU) == {}


@pytest.mark.parametrize("fact", ("driver", "version"))
def test_other_drivers(fact):
    store_policy(GPU, SCAN, FOUND, measured={})
    later = replace(GPU, **{fact: "later"})
    assert "it was measured with the driver 1" in is_shipped(later)
    store_policy(later, "primitives/scan_totals", FOUND, measured={})
    assert chosen(later) == (tuning.shipped_policy(later, SCAN), [])  # it was tuned again
    assert chosen() == (FOUND, [])  # two drivers of one device do not disturb each other


def places(value, path=()):
    """All paths to values within a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield from places(one, (*path, key))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_no_damage_changes_a_policy(store, data):
    """Whatever becomes of a file: a policy is the one kept, or the shipped one."""
    store.unlink(missing_ok=True)
    store_policy(GPU, SCAN, FOUND, measured=MEASURED)
    content = json.loads(store.read_text())
    path = data.draw(st.sampled_from([path for path in places(content) if path]))
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = data.draw(JSON)
    text = json.dumps(content)
    store.write_text(text[: data.draw(st.integers(0, len(text)) | st.just(len(text)))])
    policy, said = chosen()
    assert policy in (FOUND, tuning.shipped_policy(GPU, SCAN)) and len(said) <= 1
    store_policy(GPU, SCAN, FOUND, measured={})
    policy, said = chosen()
    assert policy == FOUND and len(said) <= 1  # a damaged entry that is now another kernel's stays, and is warned of


# Stale ---------------------------------------------------------------------------------------------------------


def kernels_of(store):
    return [(entry["kernel"], entry["itemsize"]) for entry in json.loads(store.read_text())["policies"]]


def make_stale(store, *kernels):
    content = json.loads(store.read_text())
    for entry in content["policies"]:
        if entry["kernel"] in kernels:
            entry["kernel_hash"] = "0" * 32
            entry["digest"] = stored_policies._digest(entry)
    store.write_text(json.dumps(content))


def test_stale_entries_of_measured_kernels_go(store):
    """Those of all sizes; not those of kernels that were not measured, of other drivers, nor valid ones."""
    totals, own = "primitives/scan_totals", {"measured": {}}
    for dtype in None, np.uint32, np.uint64:
        store_policy(GPU, SCAN, FOUND, dtype=dtype, **own)
    for profile in GPU, replace(GPU, driver="of another machine"), replace(GPU, name="Another"):
        store_policy(profile, totals, FOUND, **own)
    assert forget_stale(GPU, lambda kernel: True) == 0 and len(kernels_of(store)) == 6
    make_stale(store, SCAN, totals)
    store_policy(GPU, SCAN, FOUND, dtype=np.uint32, **own)  # measured anew
    assert forget_stale(GPU, lambda kernel: kernel == SCAN) == 2
    assert sorted(kernels_of(store), key=str) == [(SCAN, 4), *[(totals, None)] * 3]
    assert chosen(kernel=SCAN, dtype=np.dtype("u4"))[0] == FOUND
    assert forget_stale(GPU, lambda kernel: True) == 1 and len(kernels_of(store)) == 3


def test_entries_that_others_keep_meanwhile_stay(store, monkeypatch):
    """What goes is decided by the file, not by what this process has read, which may be nothing."""
    assert all_stored(GPU) == {}
    store_policy(GPU, SCAN, FOUND, measured={})
    assert forget_stale(GPU, lambda kernel: True) == 0 and kernels_of(store) == [(SCAN, None)]
    monkeypatch.setenv("CLGEOM_POLICIES", "shipped")
    reload_store()
    assert forget_stale(GPU, lambda kernel: True) == 0 and kernels_of(store) == [(SCAN, None)]


def test_no_store_is_made_where_nothing_is_stale(store):
    assert forget_stale(GPU, lambda kernel: True) == 0 and not store.parent.exists()


# Written ------------------------------------------------------------------------------------------------------------


def test_a_damaged_file_is_set_aside(store):
    store.parent.mkdir()
    store.write_text("of somebody")
    store_policy(GPU, SCAN, FOUND, measured={})
    assert store.with_suffix(".old.json").read_text() == "of somebody" and chosen() == (FOUND, [])


def test_keep_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="groups of 2048 do not fit"):
        store_policy(GPU, SCAN, Policy(wg_size=2048), measured={})
    with pytest.raises(ValueError, match="damaged"):
        store_policy(GPU, STAGE, Policy(), measured={})
    assert not store_path().exists()


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs a path that is no folder")
def test_a_folder_that_cannot_be_written(monkeypatch):
    monkeypatch.setenv("CLGEOM_DATA_DIR", "/dev/null/data")
    assert chosen() == (tuning.shipped_policy(GPU, SCAN), []) and forget(GPU) == 0
    with pytest.raises(InvalidInput, match="cannot be written to '/dev/null/data/policies.json': .*CLGEOM_DATA_DIR"):
        store_policy(GPU, SCAN, FOUND, measured={})


def test_an_interrupted_write_leaves_the_old_file(store, monkeypatch):
    store_policy(GPU, SCAN, FOUND, measured={})
    before = store.read_text()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(stored_policies.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store_policy(GPU, SCAN, replace(FOUND, wg_size=64), measured={})
    assert store.read_text() == before and sorted(p.name for p in store.parent.iterdir()) == [
        "policies.json",
        "policies.lock",
    ]


def test_writers_wait_for_each_other(monkeypatch):
    """As on Windows, where a lock that another holds is an error."""
    held = iter([PermissionError, PermissionError, None])

    def attempt():
        error = next(held)
        if error:
            raise error

    stored_policies._retry_while_busy(attempt)
    assert next(held, "all tried") == "all tried"
    monkeypatch.setattr(stored_policies, "PATIENCE", 0.0)
    held = itertools.repeat(PermissionError)
    with pytest.raises(PermissionError):
        stored_policies._retry_while_busy(attempt)


#: Keeps ten policies, each under a name of its own device.
WRITER = """
import sys
sys.path[:0] = {path!r}
from profiles import imaginary
from clgeom.core.policies import Policy
from clgeom.core.stored_policies import store_policy
for number in range(10):
    store_policy(imaginary(name=f"{{sys.argv[1]}} {{number}}"), {kernel!r}, Policy(wg_size=64), measured={{}})
"""


def test_several_processes_lose_nothing(store):
    code = WRITER.format(path=sys.path, kernel=SCAN)
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    writers = [subprocess.Popen([sys.executable, "-c", code, str(one)], env=env) for one in range(3)]

    def here(number):
        for again in range(5):
            store_policy(imaginary(name=f"thread {number} {again}"), SCAN, FOUND, measured={})

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(here, range(3)))
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    names = {entry["device"]["name"] for entry in json.loads(store.read_text())["policies"]}
    wanted = {f"{one} {number}" for one in range(3) for number in range(10)}
    assert names == wanted | {f"thread {one} {number}" for one in range(3) for number in range(5)}


@pytest.mark.skipif(os.name != "posix", reason="modes and symbolic links")
def test_a_file_keeps_its_mode_and_its_place(store):
    store_policy(GPU, SCAN, FOUND, measured={})
    store.chmod(0o644)
    store_policy(GPU, STAGE, StagePolicy(), measured={})
    assert store.stat().st_mode & 0o777 == 0o644
    real = store.parent.parent / "real.json"
    store.rename(real)
    store.symlink_to(real)
    store_policy(GPU, PAIRS, PairsPolicy(items_per_thread=8), measured={})
    assert store.is_symlink() and len(kernels_of(real)) == 3 and real.stat().st_mode & 0o777 == 0o644


def test_a_full_disk_is_seen_before_anything_is_measured(store, monkeypatch):
    stored_policies.require_writable()
    assert [path.name for path in store.parent.iterdir()] == ["policies.lock"]

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(stored_policies.os, "fsync", full)
    with pytest.raises(InvalidInput, match="cannot be written to .*: No space left on device"):
        stored_policies.require_writable()


@pytest.mark.parametrize(
    "changed", [{"block_rows": 0}, {"steps": -1}, {"items_per_thread": 1 << 70}, {"launches": "nonsense"}]
)
def test_shapes_that_are_none_are_not_kept(store, changed):
    with pytest.raises(ValueError, match="must be"):
        store_policy(GPU, "dp/paths/tile_sweep", replace(TilePolicy(), **changed), measured={})
    assert not store.exists()
