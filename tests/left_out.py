"""A plugin of pytest that leaves out the tests whose whole names a file lists: -p left_out --left-out FILE.

pytest's own --deselect also leaves out tests whose names only begin so.
"""

from pathlib import Path


def pytest_addoption(parser):
    parser.addoption("--left-out", metavar="FILE", type=Path, required=True, help="names of tests, one on a line")


def pytest_collection_modifyitems(config, items):
    names = set(config.getoption("left_out").read_text(encoding="utf-8").splitlines())
    gone = [item for item in items if item.nodeid in names]
    config.hook.pytest_deselected(items=gone)
    items[:] = [item for item in items if item.nodeid not in names]
