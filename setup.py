"""Metadata that setup.cfg cannot express: the long description, the project's addresses, PoCL without glibc.

The environment variable CLGEOM_REPOSITORY names the address of the repository when a distribution is built. With it the
links and pictures of the README lead there. Without it there are no project addresses, and the long description has
neither links nor pictures, for a relative one leads nowhere outside the checkout.

PoCL's wheels need glibc, and no environment marker tells musl (Alpine) from glibc. So a distribution that is built on a
Linux without glibc does not require PoCL, and pip can install clgeom there from a checkout. Build releases with glibc.
"""

import os
import platform
import re
from pathlib import Path

import setuptools

PICTURE = re.compile(r"^\.\. image:: (\S+)\n(?:   .*\n)*\n?", re.MULTILINE)
LINK = re.compile(r"`([^`<>]+?)\s+<([^`<>]+)>`__")


def long_description(readme, repository):
    """The README with links and pictures at their addresses in the repository, or without them."""
    if not repository:
        return LINK.sub(r"\1", PICTURE.sub("", readme))
    readme = PICTURE.sub(lambda found: found[0].replace(found[1], f"{repository}/raw/HEAD/{found[1]}"), readme)
    return LINK.sub(lambda found: f"`{found[1]} <{address_of(found[2], repository)}>`__", readme)


def address_of(path, repository):
    """The address of a file or folder of the checkout."""
    return f"{repository}/{'tree' if path.endswith('/') else 'blob'}/HEAD/{path}"


def project_urls(repository):
    """The project's addresses by their names, none without a repository."""
    pages = {
        "Documentation": "docs/tutorial.rst",
        "Platforms": "docs/platforms.rst",  # clgeom/quirks/drivers.py looks for this name
        "Changes": "CHANGELOG.rst",
    }
    if not repository:
        return {}
    return {"Source": repository, **{name: address_of(path, repository) for name, path in pages.items()}}


class Distribution(setuptools.Distribution):
    def parse_config_files(self, *args, **kwargs):
        super().parse_config_files(*args, **kwargs)
        if platform.system() == "Linux" and platform.libc_ver()[0] != "glibc":
            kept = [one for one in self.install_requires if not one.startswith("pocl-binary-distribution")]
            self.install_requires = self.metadata.install_requires = kept


if __name__ == "__main__":
    repository = os.environ.get("CLGEOM_REPOSITORY", "").rstrip("/")
    readme = Path(__file__).with_name("README.rst").read_text(encoding="utf-8")
    setuptools.setup(
        distclass=Distribution,
        long_description=long_description(readme, repository),
        long_description_content_type="text/x-rst",
        project_urls=project_urls(repository),
    )
