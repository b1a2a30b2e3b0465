"""Programs for PoCL 3.0 begin with the declarations that they name, and compile as with the whole header."""

import numpy as np
import pytest

from clgeom.core import build as building
from clgeom.core.build import build
from clgeom.errors import KernelBuildError
from clgeom.quirks import pocl_headers
from clgeom.quirks.pocl_headers import declarations, needed

BASE = """
#ifndef _BASE_H_
#define _BASE_H_ // types
typedef unsigned int uint;
#endif
"""
HEADER = r"""
//===--- a header, as defined(A) && \
//        defined(B)
#ifndef _OPENCL_H_
#define _OPENCL_H_
#include "opencl-c-base.h"
#define __ovld __attribute__((overloadable))
int __ovld min(int x, int y);
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
double __ovld min(double x,
                  double y);
#endif //cl_khr_fp64
/* uint __ovld
   gone(uint); */
#if defined(A) || \
    defined(B)
uint __ovld max(uint x, uint y);
#else // neither
#ifdef C
int __ovld max(int x, int y);
#else // nor C
long __ovld max(long x, long y);
#endif
#endif
#undef __ovld
#endif //_OPENCL_H_
"""


@pytest.fixture
def known(tmp_path):
    (tmp_path / "opencl-c-base.h").write_text(BASE)
    (tmp_path / "opencl-c.h").write_text(HEADER)
    return declarations(tmp_path)


def test_declarations_by_function_with_their_conditions(known):
    assert set(known) == {"", "min", "max"}
    assert known["min"].splitlines() == [
        "int __ovld min(int x, int y);",
        "#ifdef cl_khr_fp64",
        "double __ovld min(double x,                   double y);",
        "#endif",
    ]
    around = ["#if defined(A) ||      defined(B)", "#else", "#ifdef C"]
    assert known["max"].splitlines() == [
        *(around[0], "uint __ovld max(uint x, uint y);", "#endif"),
        *(*around, "int __ovld max(int x, int y);", "#endif", "#endif"),
        *(*around, "#else", "long __ovld max(long x, long y);", "#endif", "#endif"),
    ]
    assert known[""].splitlines() == [
        *("#ifndef _BASE_H_", "#define _BASE_H_", "typedef unsigned int uint;", "#endif"),
        "#define __ovld __attribute__((overloadable))",
        *("#ifdef cl_khr_fp64", "#pragma OPENCL EXTENSION cl_khr_fp64 : enable", "#endif"),
    ]


def test_sources_get_what_they_name(known):
    assert "max(" not in needed(known, "a = min(b, c); maximum(d)")
    assert needed(known, "x").startswith(known[""])
    both = needed(known, "max(min(a, b), c)")
    assert known["min"] in both and known["max"] in both


def test_another_header_is_none(tmp_path, session, monkeypatch):
    monkeypatch.setattr(pocl_headers, "FOLDER", tmp_path)
    monkeypatch.setattr(pocl_headers.caches, "folder", lambda: tmp_path)
    for text in (None, "#endif", "int min(int x"):
        if text is not None:
            (tmp_path / "opencl-c.h").write_text(text)
            (tmp_path / "opencl-c-base.h").write_text(BASE)
        pocl_headers._declarations.cache_clear()
        assert pocl_headers.shortened(session.profile, "x") is None
    pocl_headers._declarations.cache_clear()


SOURCE = """
kernel void probe(global float *a, global int *b) {
    const int i = get_global_id(0);
    const float4 v = vload4(i, a);
    b[i] = convert_int_sat_rte(fma(v.x, v.y, v.z)) + popcount(i + 7) + mul_hi(i, 1 << 30) + min(i, INT_MAX);
    a[4 * i] = clamp(v.w, 0.5f, as_float(0x3f800000 + i)) * M_PI_F + powr(v.y, 2.0f);
}
"""


def test_results_are_those_with_the_whole_header(session, monkeypatch):
    import pyopencl as cl

    numbers = np.linspace(0.1, 9, 64, dtype=np.float32)

    def results():
        program = build(session, SOURCE)
        a, b = numbers.copy(), np.zeros(16, np.int32)
        buffers = [cl.Buffer(session.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=one) for one in (a, b)]
        program.probe(session.queue, (16,), (1,), *buffers)
        for one, buffer in zip((a, b), buffers):
            cl.enqueue_copy(session.queue, one, buffer)
        return a.tolist(), b.tolist(), pocl_headers.GUARD in options(program)

    def options(program):
        return program.get_build_info(session.device, cl.program_build_info.OPTIONS)

    expected = pocl_headers.shortened(session.profile, SOURCE) is not None
    found = results()
    monkeypatch.setattr(pocl_headers, "shortened", lambda *_: None)
    whole = results()
    assert found[:2] == whole[:2] and (found[2], whole[2]) == (expected, False)


@pytest.mark.parametrize("text, whole", [("a ## b;\n", True), ("a + b;\n", False)])
def test_names_that_users_paste_together_need_the_whole_header(session, monkeypatch, text, whole):
    import pyopencl as cl

    monkeypatch.setattr(building, "render", lambda *_, **__: SOURCE)
    program = building._built(session, ("a kernel", (("body", text),), ()))
    options = program.get_build_info(session.device, cl.program_build_info.OPTIONS)
    short = pocl_headers.shortened(session.profile, SOURCE) is not None
    assert (pocl_headers.GUARD in options) == (short and not whole)


def test_errors_count_the_lines_of_the_source(session):
    if pocl_headers.shortened(session.profile, SOURCE) is None:
        pytest.skip("sources for this device get no declarations before them, whose lines might be counted")
    with pytest.raises(KernelBuildError) as caught:
        build(session, "kernel void probe(global int *a) {\n    a[0] = min(1, 2);\n    a[0] = nothing_like_it(3);\n}\n")
    assert "3:" in caught.value.log and "nothing_like_it" in caught.value.log
    assert caught.value.source.startswith("kernel void")
