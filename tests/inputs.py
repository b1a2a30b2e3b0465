"""Objects of other libraries that hold points or values, made of NumPy arrays.

`POINTS_OF` and `VALUES_OF` have, by name, a function of an array; the names are those of the table in
docs/reference/inputs.rst.
"""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
gpd = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")


class ByDLPack:
    """Nothing but DLPack."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __dlpack__(self, **how):
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class ByArrow:
    """Nothing but Arrow's PyCapsule interface."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.chunked_array(self.array).__arrow_c_stream__(requested_schema)


class OnCuda:
    """What CUDA arrays have in common; the memory is not."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.shape, self.dtype = self.values.shape, self.values.dtype

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (16, True), "strides": None, "version": 3}


class LikeCuPy(OnCuda):
    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def get(self):
        return self.values.copy()


class LikeTorch(OnCuda):
    """In CUDA memory until `cpu` is called, and known to need a gradient until `detach` is called."""

    detached = on_host = False

    @property
    def __cuda_array_interface__(self):
        if self.on_host:
            raise AttributeError("no CUDA tensor")
        return super().__cuda_array_interface__

    def _changed(self, **state):
        made = LikeTorch(self.values)
        vars(made).update({"detached": self.detached, "on_host": self.on_host} | state)
        return made

    def detach(self):
        return self._changed(detached=True)

    def cpu(self):
        return self._changed(on_host=True)

    def __array__(self, dtype=None, copy=None):
        if not self.on_host:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")
        if not self.detached:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return np.array(self.values, dtype=dtype)

    def __dlpack__(self, **how):
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self):
        return (1, 0) if self.on_host else (2, 0)


class LikeNumba(OnCuda):
    def copy_to_host(self):
        return self.values.copy()


class OtherDevice:
    """Nothing but a DLPack that copies from a device to the host when it is asked to."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __dlpack__(self, *, dl_device=None, copy=None, **how):
        if dl_device != (1, 0) or copy is not True:
            raise BufferError("this is on another device")
        return self.values.copy().__dlpack__()

    def __dlpack_device__(self):
        return (10, 0)


def strided(values):
    return np.repeat(np.repeat(values, 2, axis=0), 2, axis=-1)[::2, ..., ::2] if values.ndim > 1 else wide(values)


def wide(values):
    return np.repeat(values, 2)[::2]


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def interleaved(points):
    """A FixedSizeList with something before and behind the points, which a slice leaves out."""
    points = np.concatenate([points[:1], points, points[:1]]) if len(points) else points
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(points).ravel()), 2)
    return lists.slice(1, len(lists) - 2) if len(lists) else lists


def chunks(array):
    """An Arrow array in three chunks, one of them empty."""
    return pa.chunked_array([array[:5], array[5:5], array[5:]])


def separated(points):
    x, y = (pa.array(np.ascontiguousarray(column)) for column in points.T)
    return pa.StructArray.from_arrays([x, y], ["x", "y"])


def table(points):
    return pa.table({"x": np.ascontiguousarray(points[:, 0]), "y": np.ascontiguousarray(points[:, 1])})


def named(points):
    """Columns by name, in another order and among others."""
    return {"id": np.arange(len(points)), "Lat": points[:, 1].copy(), "Lon": points[:, 0].copy()}


def fields(points, names):
    made = np.empty(len(points), [(name, points.dtype) for name in names])
    made["x"], made["y"] = points.T
    return made


def geo_frame(points):
    return gpd.GeoDataFrame({"id": np.arange(len(points))}, geometry=shapely.points(points))


def geoarrow(**how):
    return lambda points: pa.table(geo_frame(points).to_arrow(**how))


def arrow_typed(array):
    return pd.Series(array, dtype=pd.ArrowDtype(array.type))


#: Objects that keep the type of the numbers.
POINTS_OF = {
    "ndarray, strided": strided,
    "ndarray, read-only": read_only,
    "ndarray, structured": lambda p: fields(p, "xy"),
    "ndarray, structured, by name": lambda p: fields(p, "yzx"),
    "DLPack": ByDLPack,
    "DLPack, strided": lambda p: ByDLPack(strided(p)),
    "DLPack of another device": OtherDevice,
    "CUDA array with get": LikeCuPy,
    "CUDA array with cpu": LikeTorch,
    "CUDA array with copy_to_host": LikeNumba,
    "pandas DataFrame": lambda p: pd.DataFrame(p, columns=["a", "b"]),
    "pandas DataFrame, by name": lambda p: pd.DataFrame(named(p)),
    "pandas DataFrame, nullable": lambda p: pd.DataFrame(p).astype(nullable(p)),
    "pandas DataFrame, Arrow": lambda p: pd.DataFrame(p).astype({k: f"{kind(p)}[pyarrow]" for k in (0, 1)}),
    "pandas Series, Arrow lists": lambda p: arrow_typed(interleaved(p)),
    "pandas Series, Arrow structs": lambda p: arrow_typed(separated(p)),
    "Polars DataFrame": lambda p: pl.DataFrame({"a": p[:, 0].copy(), "b": p[:, 1].copy()}),
    "Polars DataFrame, by name": lambda p: pl.DataFrame(named(p)),
    "Polars Series of Array": lambda p: pl.Series("p", p, dtype=pl.Array(polars_type(p), 2)),
    "Polars Series of Struct": lambda p: pl.DataFrame({"x": p[:, 0].copy(), "y": p[:, 1].copy()}).to_struct("p"),
    "pyarrow Table": table,
    "pyarrow Table, by name": lambda p: pa.table(named(p)),
    "pyarrow Table, column of points": lambda p: pa.table({"id": np.arange(len(p)), "p": interleaved(p)}),
    "pyarrow RecordBatch": lambda p: pa.RecordBatch.from_struct_array(separated(p)),
    "pyarrow FixedSizeList": interleaved,
    "pyarrow struct": lambda p: separated(np.concatenate([p[:1], p])).slice(1) if len(p) else separated(p),
    "pyarrow ChunkedArray": lambda p: chunks(interleaved(p)),
    "pyarrow ChunkedArray, structs": lambda p: chunks(separated(p)),
    "Arrow PyCapsule": lambda p: ByArrow(chunks(separated(p))),
}
#: Objects whose coordinates are float64.
GEOMETRIES_OF = {
    "Shapely array": shapely.points,
    "Shapely list": lambda p: list(shapely.points(p)),
    "Shapely MultiPoint": shapely.multipoints,
    "GeoSeries": lambda p: gpd.GeoSeries(shapely.points(p)),
    "GeometryArray": lambda p: gpd.GeoSeries(shapely.points(p)).array,
    "GeoDataFrame": geo_frame,
    "pandas Series of geometries": lambda p: pd.Series(list(shapely.points(p)), dtype=object),
    "WKB": lambda p: pa.array(shapely.to_wkb(shapely.points(p)), pa.binary()),
    "WKB in Polars": lambda p: pl.Series(shapely.to_wkb(shapely.points(p)).tolist(), dtype=pl.Binary),
    "GeoArrow, interleaved": geoarrow(geometry_encoding="geoarrow"),
    "GeoArrow, separated": geoarrow(geometry_encoding="geoarrow", interleaved=False),
    "GeoArrow, WKB": geoarrow(),
}
VALUES_OF = {
    "ndarray, strided": wide,
    "ndarray, read-only": read_only,
    "DLPack": ByDLPack,
    "DLPack, strided": lambda v: ByDLPack(wide(v)),
    "DLPack of another device": OtherDevice,
    "CUDA array with get": LikeCuPy,
    "CUDA array with cpu": LikeTorch,
    "CUDA array with copy_to_host": LikeNumba,
    "pandas Series": lambda v: pd.Series(v, index=np.arange(len(v))[::-1]),
    "pandas Series, nullable": lambda v: pd.Series(v).astype(nullable(v)),
    "pandas Series, Arrow": lambda v: pd.Series(v).astype(f"{kind(v)}[pyarrow]"),
    "pandas Index": pd.Index,
    "Polars Series": pl.Series,
    "pyarrow Array": pa.array,
    "pyarrow ChunkedArray": lambda v: chunks(pa.array(v)),
    "pyarrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "Arrow PyCapsule": lambda v: ByArrow(chunks(pa.array(v))),
}


def kind(values):
    """The name of an array's type for Arrow."""
    return {"float32": "float", "float64": "double"}.get(values.dtype.name, values.dtype.name)


def nullable(values):
    """The name of an array's type for pandas' arrays with a mask."""
    name = values.dtype.name
    return "boolean" if name == "bool" else name.replace("ui", "UI") if name[0] == "u" else name.capitalize()


def polars_type(values):
    return pl.Series(values[:, 0].copy()).dtype
