"""What setup.cfg cannot say: the long description and the project's addresses, which depend on one setting.

The environment variable CLGEOM_REPOSITORY names the address of the repository when a distribution is built. Without it
there are no project addresses, and the long description has no pictures, for it could not show them.
"""

import os
import re
from pathlib import Path

from setuptools import setup


def long_description(readme, repository):
    """The README with its pictures at their addresses in the repository, or without them."""
    picture = re.compile(r"^\.\. image:: (\S+)\n(?:   .*\n)*\n?", re.MULTILINE)
    if not repository:
        return picture.sub("", readme)
    return picture.sub(lambda found: found[0].replace(found[1], f"{repository}/raw/HEAD/{found[1]}"), readme)


if __name__ == "__main__":
    address = os.environ.get("CLGEOM_REPOSITORY", "").rstrip("/")
    pages = {"Source": address, "Changes": f"{address}/blob/HEAD/CHANGELOG.rst"} if address else {}
    readme = Path(__file__).with_name("README.rst").read_text(encoding="utf-8")
    setup(
        long_description=long_description(readme, address),
        long_description_content_type="text/x-rst",
        project_urls=pages,
    )
