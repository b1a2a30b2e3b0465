"""The lowest versions that setup.cfg allows, as a list for pip: of the requirements, and of the extras named.

python .ci/lowest.py plot geo > lowest.txt && pip install -r lowest.txt
"""

import configparser
import sys
from pathlib import Path

SETUP = Path(__file__).resolve().parents[1] / "setup.cfg"


def lowest(extras):
    """Lines such as "numpy == 1.24" for the requirements and for extras; ValueError where one has no lowest version."""
    setup = configparser.ConfigParser()
    setup.read(SETUP, encoding="utf-8")
    lists = [setup["options"]["install_requires"], *(setup["options.extras_require"][extra] for extra in extras)]
    lines = sorted({line for text in lists for line in text.splitlines() if line and line[0] != "#"})
    without = [line for line in lines if line.count(">=") < 1 + ("python_version >=" in line)]
    if without:
        raise ValueError(f"setup.cfg has no lowest version for {', '.join(without)}")
    return [line.replace(">=", "==", 1) for line in lines]


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
