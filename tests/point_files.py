"""Files of points, as tests of readers and writers make them."""

import io
import sys

import pytest

SQUARE = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]


@pytest.fixture
def make(tmp_path):
    """Write a file of this name and content; returns its path."""

    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def stdin(monkeypatch, data):
    """Make bytes the standard input; returns its name as a file."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return "-"
