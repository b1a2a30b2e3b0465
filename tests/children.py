"""The environment of child processes of tests."""

import os
import sys
from pathlib import Path

import clgeom


def environment(**more) -> dict[str, str]:
    """This process' environment, in which a child finds the modules that this process finds, and this clgeom."""
    folders = [str(Path(clgeom.__file__).parents[1]), *filter(os.path.isdir, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(folders)), **more}
