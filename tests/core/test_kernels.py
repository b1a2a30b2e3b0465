"""Every kernel renders and compiles alone with its defaults, in both shapes, and keeps the house's rules."""

import re
import time

import pytest
from effort import LONG

from clgeom.core import sources
from clgeom.core.build import build
from clgeom.core.device import Session
from clgeom.core.render import render
from clgeom.errors import KernelBuildError
from clgeom.quirks.pocl_headers import GUARD, shortened

KERNELS = sources.kernels()


def test_kernels_are_found():
    assert {"primitives/scan_tiles", "hull/orient2d_signs", "hull/heaphull_label"} <= set(KERNELS)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_compiles_alone(session, capfd, kernel):
    """With one work-item, as on CPUs."""
    import pyopencl as cl

    text = render(kernel, variant="serial", wg_size=1)
    program = build(session, text, caller=kernel)
    assert program.kernel_names.split(";") == [kernel.rsplit("/", 1)[-1]]
    options = program.get_build_info(session.device, cl.program_build_info.OPTIONS)
    assert (GUARD in options) == (shortened(session.profile, text) is not None), "it names all functions that it calls"
    assert "warning" not in capfd.readouterr().err  # some drivers print to the terminal, with a cold cache


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_compiles_for_other_devices(session, capfd, kernel):
    """With its defaults a kernel needs no float64, and no more local memory than GPUs have; it also builds
    for devices that flush small floats to zero and have memory of their own."""
    import pyopencl as cl

    header = "".join(f"#undef {name}\n#define {name} 0\n" for name in ("CLGEOM_DENORMALS", "CLGEOM_IN_PLACE"))
    limited = Session(session.device, fp64=False)
    quick = session.profile.runtime == "pocl" and not LONG  # NVIDIA's compiler links no inline functions then
    options = ("-cl-opt-disable",) if quick else ()
    program = build(limited, header + render(kernel, variant="group", wg_size=32), options, caller=kernel)
    name = kernel.rsplit("/", 1)[-1]
    assert program.kernel_names.split(";") == [name]
    info = cl.kernel_work_group_info.LOCAL_MEM_SIZE
    assert cl.Kernel(program, name).get_work_group_info(info, session.device) <= 48 << 10
    assert "warning" not in capfd.readouterr().err


@pytest.mark.parametrize("variant, wg_size", [("serial", 1), ("group", 64)])
def test_splits_with_choices_compile_without_warnings(session, capfd, variant, wg_size):
    """The text is another in each run, since drivers warn with a cold cache only."""
    text = render("dp/paths/split_finish", variant=variant, wg_size=wg_size, track=True)
    options = ("-cl-opt-disable",) if session.profile.is_cpu else ()  # NVIDIA's compiler needs functions inline
    build(session, f"// {time.time()}\n{text}", options, caller="splits")
    assert "warning" not in capfd.readouterr().err


@pytest.mark.parametrize("variant", ("group", "serial"))
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_opens_with_what_it_is(kernel, variant):
    text = sources.template(kernel, variant)
    stem = kernel.rsplit("/", 1)[-1]
    assert re.search(rf"^// {stem}: ", text, re.MULTILINE), "the comment that opens a kernel names it"
    page = re.search(r"<%page args=\"(.*)\"/>", text)
    assert page, "defaults that let it compile alone"
    for name in ("variant", "wg_size"):
        assert f"{name}=" in page.group(1)


def code_of(text):
    """OpenCL C without its comments."""
    return re.sub(r"//.*|/\*.*?\*/", "", text)


@pytest.mark.parametrize("variant", ("group", "serial"))
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_keeps_the_rules(kernel, variant):
    text = render(kernel, variant=variant, wg_size=1)
    if re.search(r"\b(float|double|half)\d*\b", code_of(text)):
        assert "#pragma OPENCL FP_CONTRACT OFF" in text, "include portable.h"
    assert not re.search(r"\b(float|int|uint)16\b|\b(double|long|ulong)8\b", text), "vectors of 32 bytes at most"
    assert not re.search(r"\(\s*(global|local)\s+(const\s+)?\w+[248]\s*\*\s*\)", text), "no casts to vector pointers"
    assert "fast-relaxed" not in text and "mad24" not in text


@pytest.mark.parametrize("kernel", KERNELS)
def test_serial_kernels_have_no_group_of_many(kernel):
    text = render(kernel, variant="serial", wg_size=1)
    assert re.search(r"reqd_work_group_size\((1|WG_SIZE), 1, 1\)", text)


def test_a_kernel_that_does_not_compile_is_noticed(session):
    with pytest.raises(KernelBuildError):
        build(session, render("primitives/set_value", value="no_such_type"))


def test_every_kernel_is_in_the_selftest():
    from clgeom import selftest

    named = [kernel for one in selftest.checks() for kernel in one.kernels]
    assert sorted(named) == sorted([*KERNELS, "dp/fields"]), "each by one check, which an outcome names"
