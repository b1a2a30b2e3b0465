"""The functions of quirks that core calls for every device."""

from types import SimpleNamespace

import pytest

from clgeom import quirks
from clgeom.core.profile import describe
from clgeom.quirks import pocl_cache, pocl_cpu, pocl_headers, pocl_linker


def profile_with(*names):
    """What hooks read of a profile, with these defects."""
    facts = {"name": "a device", "version": "1", "driver": "2", "runtime": "pocl", "is_cpu": True, "architecture": None}
    return SimpleNamespace(quirks=frozenset(names), **facts)


@pytest.mark.parametrize(
    "runtime, is_cpu, is_static",
    (
        ("amd", False, True),
        ("intel", False, False),
        ("rusticl", False, True),
        ("nvidia", False, False),
        ("pocl", True, False),
    ),
)
def test_inline_functions_are_static_where_they_must_link(runtime, is_cpu, is_static):
    profile = profile_with()
    profile.runtime, profile.is_cpu = runtime, is_cpu
    assert quirks.build_options(profile) == ["-Dinline=static"] * is_static


def test_sub_groups_are_narrow_where_wide_ones_spill():
    profile = profile_with()
    profile.runtime, profile.is_cpu, profile.architecture = "intel", False, "ip_12.60"
    (option,) = quirks.build_options(profile)
    assert option.startswith("-DCLGEOM_NARROW=") and " " not in option
    profile.architecture = "ip_12.55"
    assert quirks.build_options(profile) == []


@pytest.mark.parametrize(
    "words, names",
    [
        ("AMD Accelerated Parallel Processing 3581.0 Advanced Micro Devices, Inc. OpenCL 2.0", set()),
        ("Portable Computing Language 5.0 GenuineIntel OpenCL 3.0 PoCL HSTR: cpu-haswell", {"needs_ld", "vector32"}),
        ("Portable Computing Language 3.0 Intel", {"needs_ld", "vector32", "long_header"}),
        (
            "Portable Computing Language 3.1 AuthenticAMD PoCL HSTR: pthread-x86_64-unknown-linux-gnu-znver3 "
            "OpenCL 3.0 PoCL 3.1 Linux, Release, RELOC, LLVM 14.0.6, SLEEF, DISTRO, POCL_DEBUG",
            {"needs_ld", "vector32", "foreign_library"},
        ),
        (
            "Portable Computing Language 3.1 AuthenticAMD PoCL HSTR: pthread-x86_64-unknown-linux-gnu-znver3 "
            "OpenCL 3.0 PoCL 3.1 Linux, Release, RELOC, LLVM 14.0.6, SLEEF, POCL_DEBUG",
            {"needs_ld", "vector32"},
        ),
        (
            "Portable Computing Language 3.1+debian AuthenticAMD PoCL HSTR: pthread-x86_64-pc-linux-gnu-skylake-avx512 "
            "OpenCL 3.0 PoCL 3.1+debian Linux, RELOC, DISTRO",
            {"needs_ld", "vector32"},
        ),
        ("NVIDIA CUDA 580.65 NVIDIA Corporation OpenCL 3.0 CUDA", {"lost_minus"}),
    ],
)
def test_defects_follow_from_words(words, names):
    assert quirks.defects_of(words.lower()) == names <= {name for _, name, _ in quirks.DEFECTS}


def test_profile_has_the_defects_of_its_device(session):
    device = session.device
    platform = device.platform
    words = f"{platform.name} {device.driver_version} {device.vendor} {device.version} {platform.version}".lower()
    assert describe(device).quirks == quirks.defects_of(words)


def test_devices_without_defects_are_left_alone(monkeypatch):
    for module, name in ((pocl_cpu, "name_cpu"), (pocl_cache, "build"), (pocl_headers, "_declarations")):
        monkeypatch.setattr(module, name, lambda *_: pytest.fail("a special case"))
    sound, made = profile_with(), []
    assert quirks.before_context("a device", sound) is None
    assert quirks.build_options(sound) == [] and quirks.short_source(sound, "kernel void f() {}") is None
    assert quirks.build(lambda more: made.append(more) or "built", sound, None, "source", ["-DA"]) == "built"
    assert [list(more) for more in made] == [[]]


def test_each_defect_has_its_case(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(pocl_linker, "check_linker", lambda profile: calls.append("linker"))
    monkeypatch.setattr(pocl_cpu, "name_cpu", lambda device: calls.append(device))
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    files = quirks.before_context("a device", profile_with("needs_ld", "unnamed_cpu"))
    assert isinstance(files, pocl_cache.KernelFiles) and calls == ["linker", "a device"]
    assert quirks.build_options(profile_with("lost_minus")) == ["-DCLGEOM_LOST_MINUS"]
    monkeypatch.setattr(pocl_headers, "_declarations", lambda: {"": "types;\n", "min": "int min(int);\n"})
    text, options = quirks.short_source(profile_with("long_header"), "min(1)")
    assert text.startswith("types;\nint min(int);\n") and text.endswith("#line 1\nmin(1)")
    assert options == [pocl_headers.GUARD]


def test_builds_with_kernel_files_are_verified(monkeypatch):
    """The facts that a program depends on are its source, its options and the driver. A look for its files is due."""
    files = SimpleNamespace(due=9.0)
    monkeypatch.setattr(pocl_cache, "build", lambda make, *facts: (make(["-DMORE"]), *facts))
    built = quirks.build(lambda more: list(more), profile_with(), files, "source", ["-DA", "-DB"])
    assert built == (["-DMORE"], "source", "-DA", "-DB", "a device", "1", "2") and files.due == 0.0
