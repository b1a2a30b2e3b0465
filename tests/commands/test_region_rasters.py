"""Raster files that `clgeom region` reads: masks, scales, bands, nothing of the network, files that are broken."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from region_commands import done, here, hill, needs, refused

__all__ = ["here"]


def tiff(name, values, *, crs="EPSG:32632", transform=(25, 0, 691_000, 0, -25, 5_335_000), **more):
    import rasterio

    values = values.reshape((-1, *values.shape[-2:]))
    placed = {} if transform is None else {"transform": rasterio.Affine(*transform)}
    with rasterio.open(
        name,
        "w",
        driver="GTiff",
        height=values.shape[1],
        width=values.shape[2],
        count=len(values),
        dtype=values.dtype,
        crs=crs,
        **placed,
        **more,
    ) as file:
        file.write(values)
    return name


@pytest.fixture
def server():
    """A server on this machine that keeps what it is asked for."""
    import http.server
    import threading

    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_address[1]}", asked
    running.shutdown()
    thread.join()
    running.server_close()


VIRTUAL = """<VRTDataset rasterXSize="45" rasterYSize="40"><Metadata><MDI key="INTERNAL_MASK_FLAGS_1">2</MDI></Metadata>
<VRTRasterBand dataType="Byte" band="1"><SimpleSource>
<SourceFilename relativeToVRT="0">/vsicurl/{0}/{1}.tif</SourceFilename><SourceBand>1</SourceBand>
</SimpleSource></VRTRasterBand></VRTDataset>"""

TILES = """<GDAL_WMS><Service name="TMS"><ServerUrl>{0}/{1}/${{z}}/${{x}}/${{y}}.png</ServerUrl></Service><DataWindow>
<UpperLeftX>0</UpperLeftX><UpperLeftY>40</UpperLeftY><LowerRightX>45</LowerRightX><LowerRightY>0</LowerRightY>
<SizeX>45</SizeX><SizeY>40</SizeY></DataWindow><BlockSizeX>45</BlockSizeX><BlockSizeY>40</BlockSizeY>
<BandsCount>1</BandsCount></GDAL_WMS>"""


@needs("rasterio")
@pytest.mark.filterwarnings("ignore")
def test_rasters_ask_nothing_of_the_network(server):
    address, asked = server
    for number, text in enumerate((VIRTUAL, TILES)):
        for name in (f"map{number}.tif", f"map{number}.img", f"map{number}.asc", f"map{number}.vrt"):
            Path(name).write_text(text.format(address, name.replace(".", "-")))
            assert "is not a raster" in refused(name, "--level", 1) or name.endswith("vrt")
        for side in ("msk", "ovr", "MSK", "OVR"):
            tiff("hill.tif", hill())
            Path(f"hill.tif.{side}").write_text(text.format(address, f"{side}{number}"))
            assert f"'hill.tif.{side}' beside the raster is no TIFF" in refused("hill.tif", "--level", 60)
            Path(f"hill.tif.{side}").unlink()
    assert "is a virtual raster" in refused("map0.vrt", "--level", 1)
    tiff("hill.tif", hill())
    Path("hill.tif.aux.xml").write_text(
        f'<PAMDataset><SRS>{address}/srs</SRS><Metadata domain="OVERVIEWS">'
        f'<MDI key="OVERVIEW_FILE">/vsicurl/{address}/overview.tif</MDI></Metadata></PAMDataset>'
    )
    done("hill.tif", "--level", 60)
    assert asked == []


@needs("rasterio")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("numbers", "dtype"),
    (
        ("0.1 inf nan", "float32"),
        ("16777216 0.5 1e30", "float32"),
        ("16777217 0.5 1", "float64"),
        ("2147483649 1 1", "float64"),
        ("1e39 1 1", "float64"),
        ("1e-50 1 1", "float64"),
    ),
)
def test_ascii_grids_keep_numbers_that_float32_does_not_hold(numbers, dtype):
    from clgeom.io import rasters

    Path("map.asc").write_text(f"ncols 3\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 1\n{numbers}\n")
    values = rasters.read_raster("map.asc").values
    assert values.dtype == dtype
    np.testing.assert_array_equal(values[0], np.array(numbers.split(), np.float64).astype(dtype))


@needs("rasterio", "pyproj")
@pytest.mark.filterwarnings("ignore")
def test_masks_scales_and_bands_of_rasters():
    import rasterio

    values = (10 * hill()).astype(np.int16)
    values[5, 5] = -9999
    tiff("hill.tif", values, nodata=-9999)
    with rasterio.open("hill.tif", "r+") as file:
        file.scales, file.offsets = (0.1,), (5.0,)
    facts = json.loads(done("hill.tif", "--level", 65, "--json"))
    known = values != -9999
    assert facts["levels"][0]["cells"] == ((values * 0.1 + 5 >= 65) & known).sum()
    low = json.loads(done("hill.tif", "--level", -500, "--direction", ">=", "--json"))
    assert low["levels"][0]["cells"] == known.sum(), "nodata is compared as it is stored"
    assert json.loads(done("hill.tif", "--level", -2000, "--nodata", -1, "--json"))["levels"][0]["cells"] == known.size
    # a mask and nodata, both
    tiff("hill.tif", values, nodata=-9999)
    there = np.ones(values.shape, bool)
    there[20:25, 20:25] = False
    with rasterio.open("hill.tif", "r+") as file:
        file.write_mask(there)
    facts = json.loads(done("hill.tif", "--level", -9999, "--json", "--no-parts"))
    assert facts["levels"][0]["cells"] == (there & known).sum()
    tiff("two.tif", np.stack([values, values // 2]))
    assert "(int16), band 1 of 2, EPSG:32632" in done("two.tif", "--level", 600)
    assert "(int16), band 2 of 2, " in done("two.tif", "--level", 300, "--band", 2)
    assert "has the bands 1 to 2. Got band 3" in refused("two.tif", "--level", 600, "--band", 3)
    np.save("two.npy", np.stack([values, values]))
    assert "(int16), band 1 of 2, no transform" in done("two.npy", "--level", 600)


@needs("rasterio")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("body", "expected"),
    (
        ("1 2 3\n4 5 6\n", [[1, 2, 3], [4, 5, 6]]),
        ("1 2 3 4 5 -9999", [[1, 2, 3], [4, 5, -9999]]),
        ("1 2 3\n4 5 1e3\n", [[1, 2, 3], [4, 5, 1000]]),
        ("1 " * 9000 + "2.75", None),
        ("1 2 3\n4 5\n", "must hold 2 x 3 numbers, as its header says. Got 5 of them"),
        ("1 2 3\n4 5 6\n7\n", "must hold 2 x 3 numbers, as its header says. Got 7 of them"),
        ("1 2 3\n4 x 6\n", "must hold numbers. Got 'x'"),
        ("1 2 3\n4 1_0 6\n", "must hold numbers. Got '1_0'"),
        ("1 2 3\n4 1e400 6\n", "'1e400' is beyond the largest float64"),
        ("1 2 3\n4 1e-400 6\n", "'1e-400' is nearer to 0"),
        ("1 2 3\n4 9007199254740993 0.5\n", "'9007199254740993' is beyond the integers"),
        ("", "is not a raster"),
    ),
)
def test_ascii_grids_are_read_whole(monkeypatch, body, expected):
    """GDAL reads missing numbers and words as 0, and cuts off decimal places that come late."""
    from clgeom.io import rasters

    columns, rows = (9001, 1) if expected is None else (3, 2)
    header = f"NCOLS {columns}\nnrows {rows}\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9999\n"
    Path("map.asc").write_text(header + body)
    if isinstance(expected, str):
        assert expected in refused("map.asc", "--level", 1)
        return
    for block_bytes in (1, 7, 1 << 24) if expected else (1 << 24,):
        monkeypatch.setattr(rasters, "BLOCK_BYTES", block_bytes)
        raster = rasters.read_raster("map.asc")
        assert raster.nodata == -9999 and raster.transform == (1, 0, 0, 0, -1, rows)
        if expected:
            assert raster.values.dtype == np.int32 and raster.values.tolist() == expected
        else:
            assert raster.values.dtype == np.float32 and raster.values[0, -1] == 2.75


@needs("rasterio", "pyproj")
@pytest.mark.filterwarnings("ignore")
def test_rasters_that_are_odd_or_broken(subtests):
    local = 'LOCAL_CS["yard",UNIT["metre",1]]'
    whole = Path(tiff("hill.tif", hill(), crs=local)).read_bytes()
    facts = json.loads(done("hill.tif", "--level", 60, "--json", "-o", "hill.wkt"))
    assert facts["levels"][0]["area_km2"] == pytest.approx(facts["levels"][0]["area"] / 1e6)
    assert "a way from 'yard' to longitude and latitude" in refused("hill.tif", "--level", 60, "-o", "hill.geojson")
    for count in (0, 3, 8, 50, 400, len(whole) // 2, len(whole) - 9):
        with subtests.test(count=count):
            Path("cut.tif").write_bytes(whole[:count])
            assert "'cut.tif' is not a raster, or it is damaged: " in refused("cut.tif", "--level", 60)
    for transform in ((0, 0, 1, 0, 0, 1), (float("nan"), 0, 1, 0, -1, 1), (1, 0, 1e300, 0, -1, 1e300)):
        assert "The transform must" in refused(tiff("odd.tif", hill(), transform=transform), "--level", 60)
    assert "must hold numbers. Got complex64" in refused(tiff("c.tif", hill().astype(np.complex64)), "--level", 60)
    tiff("map.tif", hill(), crs=None, transform=None)
    assert "has no transform" in refused("map.tif", "--level", 60, "--crs", "EPSG:32632")
    Path("folder.tif").mkdir()
    assert "it is not a file" in refused("folder.tif", "--level", 60)
    assert "No such file" in refused("none.tif", "--level", 60)


def test_files_whose_bytes_are_no_text_or_no_numbers(monkeypatch):
    """Nothing but the one line: no traceback of rasterio's log, and no warning of NumPy's."""
    rasterio = pytest.importorskip("rasterio")
    printed = []
    about = {"count": 1, "dtype": "float32", "transform": rasterio.Affine(1, 0, 0, 0, -1, 0)}
    with rasterio.open("hill.img", "w", driver="HFA", height=40, width=45, **about) as file:
        file.write(hill().astype(np.float32), 1)
    whole = Path("hill.img").read_bytes()
    Path("hill.img").write_bytes(whole.replace(b"LrootEntryPtr", b"\xb2rootEntryPtr", 1))
    with monkeypatch.context() as patch:
        patch.setattr("sys.excepthook", lambda *what: printed.append(what))
        patch.setattr("sys.unraisablehook", printed.append)
        hooks = sys.excepthook, sys.unraisablehook
        Path("read.img").write_bytes(whole.replace(b"LlayerStackCount", b"\xb2layerStackCount", 1))
        assert done("read.img", "--level", 60)
        assert "'hill.img' is not a raster, or it is damaged: " in refused("hill.img", "--level", 60)
        assert not printed and (sys.excepthook, sys.unraisablehook) == hooks
    values = hill().astype(np.float32)
    values.view(np.uint32)[0, :3] = 0x7F800001  # signalling NaN
    np.save("odd.npy", values)
    assert "No cell of 'odd.npy' is >= 500:" in refused("odd.npy", "--level", 500)
    assert done("odd.npy", "--level", 60)
