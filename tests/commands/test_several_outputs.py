"""A command with several outputs writes all of them or none."""

import numpy as np
import pytest
from command_line import here, refused, square  # noqa: F401

from clgeom.errors import InvalidInput
from clgeom.plotting import figures

for _package in ("matplotlib", "pyproj", "pyogrio", "rasterio"):
    pytest.importorskip(_package)
MODEL = ("--bounds", 0, 0, 400, 400, "--cell", 100, "--crs", "EPSG:32632", "--model", "free-space")


@pytest.mark.parametrize(
    "call",
    [
        ("hull", "points.csv", "-o", "out.gpkg", "--plot", "out.png"),
        ("hull", "points.csv", "--by", "name", "-o", "out.csv", "--plot", "out.png"),
        ("region", "points.csv", "--segments", 3, "-o", "out.csv", "--plot", "out.png"),
        ("region", "map.npy", "--level", 2, "-o", "out.csv", "--html", "out.html", "--plot", "out.png"),
        ("region", "map.npy", "--level", 2, "--html", "out.html", "--compare", "out.png"),
        ("region", "map.npy", "--level", 2, "--before", "old.npy", "--html", "out.html", "--plot", "out.png"),
        ("region", "map.npy", "old.npy", "--level", 2, "-o", "out.csv", "--html", "out.html", "--plot", "out.png"),
        ("polygonize", "map.npy", "--html", "out.html", "--plot", "out.png"),
        ("servers", "sites.csv", *MODEL, "-o", "out.tif", "-o", "out.gpkg", "--plot", "out.png"),
    ],
    ids=lambda call: " ".join(map(str, call)),
)
def test_a_picture_that_fails_leaves_no_other_output(here, monkeypatch, call):  # noqa: F811
    def fail(*arguments, **options):
        raise InvalidInput("There is no picture.")

    square("points.csv")
    np.save("map.npy", np.arange(9).reshape(3, 3))
    np.save("old.npy", np.zeros((3, 3), int))
    (here / "sites.csv").write_text("x,y\n100,100\n300,300\n")
    monkeypatch.setattr(figures, "save", fail)
    assert "There is no picture." in refused(*call)
