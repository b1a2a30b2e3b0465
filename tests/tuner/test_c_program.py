"""The C program of docs/howto/other_languages.rst computes the hulls of `clgeom.convex_hull`."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_line import done

import clgeom

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "hull.c"
HEADER = Path("/usr/include/CL/cl.h")


@pytest.fixture(scope="module")
def hull(tmp_path_factory):
    """A function that returns what the program prints for points."""
    if not (shutil.which("cc") and HEADER.exists() and SOURCE.exists()):
        pytest.skip("needs a C compiler and the headers of OpenCL")
    folder = tmp_path_factory.mktemp("c")
    subprocess.run(["cc", "-Wall", "-Werror", "-o", folder / "hull", SOURCE, "-lOpenCL"], check=True)
    (folder / "tile_hull.cl").write_text(done("kernels", "show", "tile_hull"))

    def call(points):
        points.astype(np.float32).tofile(folder / "points.f32")
        command = [folder / "hull", folder / "tile_hull.cl", folder / "points.f32"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if "no device" in result.stderr or "does not compile" in result.stderr:
            pytest.skip("needs an OpenCL driver that C programs can use")
        return result

    return call


@pytest.mark.parametrize("n", (1, 2, 3, 5, 2047, 2048, 2049, 5000, 50_000))
@pytest.mark.parametrize("kind", ("normal", "grid", "line", "equal"))
def test_vertices_are_those_of_convex_hull(hull, n, kind):
    rng = np.random.default_rng(n)
    points = {
        "normal": rng.normal(size=(n, 2)),
        "grid": rng.integers(0, 30, (n, 2)),
        "line": np.arange(n)[:, None] * (1, 2),
        "equal": np.ones((n, 2)),
    }[kind].astype(np.float32)
    result = hull(points)
    assert result.returncode == 0, result.stderr
    assert [int(line) for line in result.stdout.split()] == clgeom.convex_hull(points).vertices.tolist()


def test_what_it_cannot_do_is_said(hull):
    angles = np.linspace(0, 2 * np.pi, 4000)
    assert "leave more than 2,048 points" in hull(1e6 * np.stack([np.cos(angles), np.sin(angles)], axis=1)).stderr
    assert "not finite" in hull(np.array([[0, 0], [np.nan, 1]])).stderr
    assert "no points" in hull(np.empty((0, 2))).stderr
    assert "pairs of float" in hull(np.zeros(3)).stderr
