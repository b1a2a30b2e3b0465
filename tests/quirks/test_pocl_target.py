"""The processor that PoCL compiles kernels for, where its library is compiled for another."""

from types import SimpleNamespace

import numpy as np
import pytest

from clgeom import quirks
from clgeom.core import build, trust
from clgeom.quirks import pocl_target
from clgeom.quirks.pocl_target import HASWELL, KERNELS, SKYLAKE_AVX512, TAKES_AVX512, library_processor, targeted

ZEN = SimpleNamespace(
    quirks=frozenset({"foreign_library"}), version="OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-znver3"
)
#: Kernels whose results depend on roundings, subnormal numbers and built-in functions.
ARITHMETIC = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
kernel void arithmetic(global const double *a, global const double *b, global double *out)
{
    const size_t i = get_global_id(0);
    const double2 pair = vload2(i / 2, a);
    const float x = a[i], y = b[i];
    out[4 * i] = a[i] * b[i] + pair.x;
    out[4 * i + 1] = fma(a[i], b[i], -a[i] * b[i]) + (isfinite(a[i] * 0x1p900) ? a[i] / b[i] : sqrt(fabs(b[i])));
    out[4 * i + 2] = x * y - y / 3.0f + fmin(x, y) * 0x1p-140f;
    out[4 * i + 3] = min(max((long)i * 7, 3L), clamp((long)(x * 100), -50L, 50L))
        + mul_hi(as_long(a[i]), as_long(b[i]));
}
"""


@pytest.mark.parametrize(
    "present, name",
    [
        (SKYLAKE_AVX512 | {"sse4a"}, "skylake-avx512"),
        (HASWELL | {"adx"}, "haswell"),
        (HASWELL | TAKES_AVX512, None),  # PoCL takes the library for AVX-512, of which some is missing
        (HASWELL - {"movbe"}, None),
        (frozenset(), None),
        *((SKYLAKE_AVX512 - {name}, None) for name in ("avx512vl", "avx512dq", "movbe", "clwb")),
    ],
)
def test_library_processor_has_no_instructions_beyond_those_present(present, name):
    assert library_processor(present) == name


def test_targeted_texts_keep_lines_and_end_the_pragma(monkeypatch):
    monkeypatch.delenv(pocl_target.VARIABLE, raising=False)
    monkeypatch.setattr(pocl_target, "instructions", lambda: HASWELL)
    first, line, source, last, *_ = targeted(ZEN, "hull/sieve/sieve", "the source").split("\n")
    assert 'target("arch=haswell,tune=znver3")' in first and "attribute push(" in first
    assert (line, source, last) == ("#line 1", "the source", "#pragma clang attribute pop")


def test_sources_stay_as_they_are_without_gain(monkeypatch):
    monkeypatch.setattr(pocl_target, "instructions", lambda: HASWELL)
    sound = SimpleNamespace(quirks=frozenset({"needs_ld"}), version=ZEN.version)
    assert quirks.targeted(sound, "hull/sieve/sieve", "text") == "text"
    assert quirks.targeted(ZEN, "sorting/radix/radix_scatter", "text") == "text"
    monkeypatch.setenv(pocl_target.VARIABLE, "None")
    assert quirks.targeted(ZEN, "hull/sieve/sieve", "text") == "text"
    monkeypatch.delenv(pocl_target.VARIABLE)
    monkeypatch.setattr(pocl_target, "instructions", frozenset)
    assert quirks.targeted(ZEN, "hull/sieve/sieve", "text") == "text"


def test_verdicts_depend_on_the_processor_of_kernels(monkeypatch, session):
    profile = SimpleNamespace(**{**vars(session.own_profile), **vars(ZEN)})
    monkeypatch.setattr(trust, "stored_by_itemsize", lambda profile, kernel: {})
    monkeypatch.delenv(pocl_target.VARIABLE, raising=False)

    def digests():
        return [trust._digest_of([kernel], profile) for kernel in ("hull/sieve/sieve", "sorting/radix/radix_scatter")]

    monkeypatch.setattr(pocl_target, "instructions", lambda: HASWELL)
    before = digests()
    monkeypatch.setattr(pocl_target, "instructions", frozenset)
    after = digests()
    assert before[0] != after[0] and before[1] == after[1]


def test_named_kernels_exist():
    from clgeom.core.families import all_checks

    names = {kernel for check in all_checks() for kernel in trust._kernels_of(check)}
    assert all(any(name.startswith(beginning) for name in names) for beginning in KERNELS)


def test_results_do_not_depend_on_the_processor(session, monkeypatch):
    import pyopencl as cl
    import pyopencl.array

    if quirks.targeted(session.own_profile, "hull/sieve/sieve", "") == "":
        pytest.skip("this device has no library for another processor")
    generator = np.random.default_rng(7)
    bits = generator.integers(0, 2**64, (2, 4096), dtype=np.uint64)
    bits[:, ::2] = (bits[:, ::2] & 0x800FFFFFFFFFFFFF) | generator.integers(880, 1100, (2, 2048), dtype=np.uint64) << 52
    a, b = (pyopencl.array.to_device(session.queue, one) for one in bits.view(np.float64))
    found = []
    for value in ("", "none"):
        monkeypatch.setenv(pocl_target.VARIABLE, value)
        out = pyopencl.array.zeros(session.queue, 4 * 4096, np.float64)
        kernel = cl.Kernel(build.build(session, ARITHMETIC, caller="hull/sieve/arithmetic"), "arithmetic")
        kernel(session.queue, (4096,), (64,), a.data, b.data, out.data)
        found.append(out.get().view(np.uint64))
    nan = np.isnan(found[0].view(np.float64)) & np.isnan(found[1].view(np.float64))
    assert np.array_equal(found[0][~nan], found[1][~nan]) and not nan.all()
