"""Profiles of devices that are not there."""

from clgeom.core.profile import DeviceProfile


def imaginary(**changed):
    """A DeviceProfile of no device."""
    values = {
        "name": "Imaginary 9000",
        "platform": "Imaginary OpenCL",
        "vendor": "Nobody",
        "version": "OpenCL 1.2",
        "driver": "1",
        "kind": "gpu",
        "compute_units": 10,
        "max_wg_size": 1024,
        "local_mem_bytes": 32768,
        "global_mem_bytes": 1 << 33,
        "max_alloc_bytes": 1 << 31,
        "fp64": True,
        "unified_memory": False,
        "denormals": True,
    }
    return DeviceProfile(**{**values, **changed})
