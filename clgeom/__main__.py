"""The entry point of the command ``clgeom`` and of ``python -m clgeom``.

Imports nothing before an interrupt is one line.
"""

import os
import sys


def main() -> None:
    """Run the command; Ctrl-C ends it with one line and exit code 130, also while its modules are imported."""
    try:
        from clgeom.commands.main import main as command
    except KeyboardInterrupt:
        os.write(2, b"clgeom: stopped\n")
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
