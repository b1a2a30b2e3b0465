"""Sorts by the device's kernels, also of keys that the host would sort by itself: test_host_sort.py is about those."""

import pytest


@pytest.fixture(autouse=True)
def _by_kernels(request, monkeypatch):
    if request.path.name != "test_host_sort.py":
        monkeypatch.setattr("clgeom.sorting.radix.sort.sorted_on_host", lambda call: None)
