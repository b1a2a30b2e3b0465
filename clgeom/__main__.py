"""``python -m clgeom`` is the command ``clgeom``."""

from clgeom.commands.main import main

if __name__ == "__main__":
    main()
