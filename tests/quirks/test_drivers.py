"""Drivers: the hint that fits a system, and Intel's CPU runtime from PyPI, which the loader must be shown."""

import os
import platform
import sys
from pathlib import Path

import pytest

from clgeom.quirks import drivers


@pytest.fixture
def homes(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(drivers.site, "getuserbase", lambda: str(tmp_path / "user"))
    for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    drivers.prepare_on_windows.cache_clear()
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="Linux's loader")
def test_intel_runtime_from_pypi_is_shown_to_the_loader(homes, monkeypatch):
    library = homes / "lib" / "libintelocl.so"
    library.parent.mkdir()
    with drivers.platform_discovery():
        assert "OCL_ICD_VENDORS" not in os.environ  # not installed: nothing changes
    library.touch()
    with drivers.platform_discovery():
        folder = Path(os.environ["OCL_ICD_VENDORS"])
        assert (folder / "intel-from-pip.icd").read_text().strip() == str(library)
        assert {p.name for p in folder.iterdir()} >= {p.name for p in Path("/etc/OpenCL/vendors").glob("*.icd")}
    assert "OCL_ICD_VENDORS" not in os.environ and not folder.exists()
    monkeypatch.setenv("OCL_ICD_VENDORS", "/the/callers/own")
    with drivers.platform_discovery():
        assert os.environ["OCL_ICD_VENDORS"] == "/the/callers/own"


def test_intel_runtime_on_windows_is_named_by_its_library(homes, monkeypatch):
    """The layout of the wheel for Windows, and the variable that the loader in pyopencl's wheel reads."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "add_dll_directory", (searched := []).append, raising=False)
    monkeypatch.setenv("PATH", "before")
    assert "'pip install intel-opencl-rt'" in drivers.install_hint() and not drivers.intel_notes()
    library = homes / "user" / "Library" / "bin" / "intelocl64.dll"
    library.parent.mkdir(parents=True)
    library.touch()
    with drivers.platform_discovery():
        assert os.environ["OCL_ICD_FILENAMES"] == str(library)
    assert "OCL_ICD_FILENAMES" not in os.environ
    with drivers.platform_discovery():
        pass
    assert searched == [str(library.parent)]  # once, and for good: TBB is loaded at a device's first use
    assert os.environ["PATH"] == os.pathsep.join((str(library.parent), "before"))
    assert "In an elevated terminal" in drivers.install_hint() and "pip install" not in drivers.install_hint()
    assert drivers.intel_notes()["library"] == str(library)
    monkeypatch.setenv("OCL_ICD_FILENAMES", "own.dll")
    with drivers.platform_discovery():
        assert os.environ["OCL_ICD_FILENAMES"] == "own.dll"
    assert drivers.intel_notes()["TBB"] == "not prepared: OCL_ICD_FILENAMES is set"


def test_intel_runtime_on_windows_is_told_where_tbb_is(tmp_path, monkeypatch):
    """The wheel's ``cl.cfg`` leaves the folder empty; each outcome is a note of the report."""
    monkeypatch.setattr(os, "add_dll_directory", lambda path: None, raising=False)
    monkeypatch.setenv("PATH", "before")
    config = tmp_path / "cl.cfg"

    def outcome():
        drivers.prepare_on_windows.cache_clear()
        return drivers.prepare_on_windows(tmp_path)

    assert "cannot be read" in outcome()
    empty = b"[A]\r\nCL_CONFIG_TBB_DLL_PATH =\r\nCL_CONFIG_OTHER = 1\r\n"
    config.write_bytes(empty)
    assert "tbb12.dll does not exist" in outcome() and config.read_bytes() == empty
    (tmp_path / "tbb12.dll").touch()
    with monkeypatch.context() as fails:
        fails.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(PermissionError()))
        assert f"cannot be written: add 'CL_CONFIG_TBB_DLL_PATH = {tmp_path.as_posix()}'" in outcome()
    assert config.read_bytes() == empty
    assert "was written to" in outcome()
    full = config.read_bytes()
    assert full == empty.replace(b"PATH =", b"PATH = " + tmp_path.as_posix().encode())
    assert "left as it is" in outcome() and config.read_bytes() == full
    assert {path.name for path in tmp_path.iterdir()} == {"cl.cfg", "tbb12.dll"}


@pytest.mark.parametrize(
    "system, machine, library, said",
    [
        ("linux", "x86_64", "glibc", "'pip install pocl-binary-distribution' adds a CPU device"),
        ("linux", "x86_64", "", "'apk add pocl' adds a CPU device"),
        ("linux", "aarch64", "glibc", "pocl-opencl-icd"),
        ("win32", "AMD64", "", "'pip install intel-opencl-rt'"),
        ("darwin", "arm64", "", "conda-forge"),
    ],
)
def test_hint_fits_the_system(monkeypatch, system, machine, library, said):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "libc_ver", lambda: (library, ""))
    hint = drivers.install_hint()
    assert said in hint and hint[0] != " " and hint.endswith("platforms.rst.")
    wheel = (system, machine, library) == ("linux", "x86_64", "glibc")
    assert ("pocl-binary-distribution" in hint) == wheel
    assert ("/etc/OpenCL/vendors/nvidia.icd" in hint and "intel-opencl-icd" in hint) == (system == "linux")


def test_platforms_page_is_that_of_the_repository(monkeypatch):
    known = ["Source, https://example.org/r", "Platforms, https://example.org/r/platforms"]
    monkeypatch.setattr(drivers.metadata, "metadata", lambda name: Message(known))
    assert "Steps: https://example.org/r/platforms." in drivers.gpu_hint()
    monkeypatch.setattr(drivers.metadata, "metadata", lambda name: Message([]))
    assert drivers.platforms_page() == "docs/platforms.rst"


class Message(list):
    """Metadata of a distribution with these addresses."""

    def get_all(self, name, default):
        return list(self) if name == "Project-URL" else default
