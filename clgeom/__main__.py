"""``python -m clgeom`` is the command ``clgeom``."""

from clgeom.cli import main

if __name__ == "__main__":
    main()
