"""Draws wagener_phases.png, wagener_tangents.png and shellsort_passes.png: traces of both algorithms as pictures.

python docs/images/traces.py
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
for options in (
    "hull -o wagener_phases.png",
    "hull --tangents -o wagener_tangents.png",
    "sort -o shellsort_passes.png",
):
    command = [sys.executable, "-m", "clgeom", "trace", *options.replace("-o ", f"-o {HERE}/").split()]
    subprocess.run(command, check=True, cwd=HERE.parents[1])
