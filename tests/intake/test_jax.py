"""Arrays of JAX on a CPU."""

import numpy as np
import pytest

import clgeom


def test_arrays_of_jax_on_a_cpu(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    jax = pytest.importorskip("jax")
    points = np.random.default_rng(1).normal(size=(300, 2)).astype(np.float32)
    array = jax.numpy.asarray(points)
    assert clgeom.convex_hull(array).vertices.tolist() == clgeom.convex_hull(points).vertices.tolist()
    np.testing.assert_array_equal(clgeom.sort(array[:, 0]), np.sort(points[:, 0]))
    with pytest.raises(clgeom.errors.InvalidInput, match="traced"):
        jax.jit(clgeom.sort)(array[:, 0])
