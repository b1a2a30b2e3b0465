"""Draws the picture of docs/howto/best_servers.rst, with the files of the page in a folder of its own.

python docs/images/best_servers.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

SITES = """\
name,lon,lat,power_dbm,height_m,frequency_mhz,antenna,azimuth_deg
Hill A,11.560,48.170,43,30,1800,sector,0
Hill B,11.560,48.170,43,30,1800,sector,120
Hill C,11.560,48.170,43,30,1800,sector,240
Valley,11.605,48.130,40,25,1800,omni,
Village,11.530,48.125,37,20,1800,omni,
"""
CALL = "servers sites.csv --dem dem.tif --model free-space --threshold -75 --cell 30 -o out.tif -o out.gpkg --plot"


def write_heights(path):
    """A ridge in an elevation model in longitude and latitude, with cells of three seconds."""
    import rasterio

    row, column = np.mgrid[:110, :150]
    ridge = 90 * np.exp(-(((column - 62 - row * 0.25) / 9) ** 2))
    heights = (520 + ridge + 18 * np.sin(column / 11) * np.cos(row / 14)).astype(np.float32)
    place = rasterio.Affine(1 / 1200, 0, 11.5, 0, -1 / 1200, 48.195)
    profile = {"driver": "GTiff", "count": 1, "dtype": "float32", "height": 110, "width": 150, "nodata": -9999}
    with rasterio.open(path, "w", crs="EPSG:4326", transform=place, **profile) as file:
        file.write(heights, 1)


def draw():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sites.csv").write_text(SITES, encoding="utf-8")
        write_heights(Path(folder, "dem.tif"))
        picture = HERE.resolve() / "best_servers.png"
        subprocess.run([sys.executable, "-m", "clgeom", *CALL.split(), str(picture)], cwd=folder, check=True)


if __name__ == "__main__":
    draw()
