"""The site: built without a warning, with every public name, with links that lead somewhere; what PyPI shows."""

import html.parser
import importlib.util
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import clgeom
from clgeom import dp, errors, radio, scale

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.rst")) if not {"generated", "_templates"} & set(page.parts)]

#: What the site and its notebooks import besides clgeom's own requirements.
NEEDS = ("sphinx", "furo", "myst_nb", "numpydoc", "sphinx_copybutton", "sphinx_design", "ipykernel")
NEEDS += ("geopandas", "laspy", "matplotlib", "pyproj", "scipy", "shapely")

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="needs the checkout")


# Sources --------------------------------------------------------------------------------------------------------


def listed():
    """The names of the API reference, by module."""
    module, names = None, {}
    for line in (DOCS / "reference" / "api.rst").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. currentmodule:: ([\w.]+)", line):
            module = found[1]
        elif found := re.match(r"   (\w+)$", line):
            names.setdefault(module, []).append(found[1])
    return names


#: Public names that are data or modules, which the page speaks of in words, and one that is listed with the errors.
IN_WORDS = {
    "__version__",
    "ClgeomError",
    "conformance",
    "dp",
    "errors",
    "radio",
    "scale",
    "problems",
    "LAYOUTS",
    "PATTERNS",
    "CATALOGUE",
    "VARIANTS",
}


PACKAGES = (clgeom, dp, dp.problems, radio, scale)
if importlib.util.find_spec("dask") is not None:
    import clgeom.dask

    PACKAGES += (clgeom.dask,)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_reference_lists_every_public_name_once(package):
    found = listed()[package.__name__]
    assert sorted(found) == sorted(set(package.__all__) - IN_WORDS)


def test_reference_lists_every_error():
    public = [
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    ]
    assert sorted(listed()["clgeom.errors"]) == sorted(public)


def test_addresses_of_others_are_on_one_page():
    naming = {page.name for page in PAGES if re.search(r"https?://", page.read_text(encoding="utf-8"))}
    assert naming == {"links.rst"}
    for name in ("README.rst", "CONTRIBUTING.rst", "SECURITY.rst", "CHANGELOG.rst", "setup.cfg"):
        assert "://" not in (ROOT / name).read_text(encoding="utf-8"), name


def test_members_left_out_of_the_reference_exist():
    for name in runpy.run_path(str(DOCS / "conf.py"))["INTERNAL"]:
        owner, member = name.split(".")
        assert hasattr(getattr(clgeom, owner, None) or getattr(dp, owner), member), name


# Distributions --------------------------------------------------------------------------------------------------


def test_long_description_has_links_and_pictures_only_with_an_address():
    core = pytest.importorskip("docutils.core")
    convert = runpy.run_path(str(ROOT / "setup.py"))["long_description"]
    readme = (ROOT / "README.rst").read_text(encoding="utf-8")
    pictures = re.findall(r"image:: (\S+)", readme)
    links = re.findall(r"<([^<>`]+)>`__", readme)
    assert len(pictures) == 1 and len(links) >= 25
    assert all((ROOT / path).is_dir() if path.endswith("/") else (ROOT / path).is_file() for path in pictures + links)
    without, with_address = convert(readme, ""), convert(readme, "https://example.org/clgeom")

    def links_of(text):
        page = core.publish_string(text, writer="html5", settings_overrides={"halt_level": 2}).decode()  # 2: warnings
        return sorted(link for link in Links(page).links if not link.startswith("#"))

    def address(path):
        kind = "raw" if path in pictures else "tree" if path.endswith("/") else "blob"
        return f"https://example.org/clgeom/{kind}/HEAD/{path}"

    assert links_of(without) == []
    assert links_of(with_address) == sorted(map(address, pictures + links))
    assert len(without.split()) >= len(readme.split()) - len(links) - 25, "nothing else is gone"


# The built site -------------------------------------------------------------------------------------------------


class Links(html.parser.HTMLParser):
    """The ids of a page, what it links to, and the pictures that it shows."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.alts = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        self.links += [attrs[name] for name in ("href", "src") if attrs.get(name)]
        if tag == "img":
            self.alts.append(attrs.get("alt"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the built site, ``html``, beside that of the executed notebooks."""
    for module in NEEDS:
        pytest.importorskip(module)
    out = tmp_path_factory.mktemp("site")
    environment = {name: value for name, value in os.environ.items() if name != "CLGEOM_REPOSITORY"}
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-d", f"{out}/doctrees"]
    ended = subprocess.run([*command, DOCS, out / "html"], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return out / "html"


@pytest.fixture(scope="module")
def site(built):
    return {page: Links(page.read_text(encoding="utf-8")) for page in built.rglob("*.html")}


def test_site_has_a_page_for_every_source_and_name(built, site):
    pages = {page.relative_to(built).as_posix() for page in site}
    assert {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in PAGES} <= pages
    generated = built / "reference" / "generated"
    assert "-h, --help" in (generated / "commands.html").read_text(encoding="utf-8")
    session = (generated / "clgeom.Session.html").read_text(encoding="utf-8")
    assert "Session.release" in session and "Session.copy_queue" not in session
    for module, names in listed().items():
        assert {f"reference/generated/{module}.{name}.html" for name in names} <= pages


def test_page_of_a_function_has_its_types_source_and_links(built):
    """Links to its source, to related functions, to its types, errors and those of others, and a button to copy."""
    page = (built / "reference" / "generated" / "clgeom.convex_hull.html").read_text(encoding="utf-8")
    assert "_modules/clgeom/hull/convex.html#convex_hull" in page
    for name in ("convex_hulls", "ConvexHull", "Hull", "errors.InvalidInput"):
        assert f'href="clgeom.{name}.html#clgeom.{name}"' in page
    for name in ("scipy.spatial.ConvexHull", "pyopencl.array.Array", "numpy.asarray"):
        assert f'#{name}"' in page
    assert "copybutton.js" in page


@pytest.mark.parametrize("name", ["scipy_user", "lidar", "radio_planner", "bioinformatics", "teaching"])
def test_notebook_runs(built, name):
    """The build has executed it: with pictures, and without a warning."""
    path = Path("reference", "generated", "notebooks", name)
    notebook = json.loads((built.parent / "jupyter_execute" / path.with_suffix(".ipynb")).read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    shown = [output for cell in code for output in cell["outputs"]]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert not [output for output in shown if output.get("name") == "stderr"], "a warning"
    page = (built / path.with_suffix(".html")).read_text(encoding="utf-8")
    assert page.count("cell_output") >= sum(bool(cell["outputs"]) for cell in code)


def test_links_inside_the_site_lead_somewhere(site):
    lost = []
    for page, found in site.items():
        for link in found.links:
            path, _, fragment = link.partition("#")
            if re.match(r"[a-z]+:|//", link) or link.startswith("data:"):
                continue
            target = page if not path else (page.parent / path.split("?")[0]).resolve()
            if not target.exists() or (fragment and target in site and fragment not in site[target].ids):
                lost.append((page.name, link))
    assert sum(len(found.links) for found in site.values()) > 1000
    assert not lost


def test_links_to_others_are_those_of_the_page(site):
    text = (DOCS / "links.rst").read_text(encoding="utf-8")
    allowed = set(re.findall(r"https?://\S+", text))
    documentations = tuple(re.findall(r"documentation of \w+: (\S+)", text))
    allowed |= {
        "https://www.sphinx-doc.org/",
        "https://pradyunsg.me",
        "https://github.com/pradyunsg/furo",
    }  # the theme's
    outside = {link for found in site.values() for link in found.links if re.match(r"https?:", link)}
    assert len(documentations) == 4
    assert {link for link in outside if not link.startswith(documentations)} <= allowed


def test_every_page_links_to_the_repository_where_its_address_is_known(tmp_path, monkeypatch):
    pytest.importorskip("furo")
    monkeypatch.setenv("CLGEOM_REPOSITORY", "https://example.org/clgeom/")
    options = runpy.run_path(str(DOCS / "conf.py"))["html_theme_options"]
    (tmp_path / "conf.py").write_text(f"html_theme = 'furo'\nhtml_theme_options = {options}\n")
    (tmp_path / "index.rst").write_text("Title\n=====\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", tmp_path, tmp_path / "html"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "https://example.org/clgeom" in Links((tmp_path / "html" / "index.html").read_text(encoding="utf-8")).links


def test_pictures_have_words(site):
    alts = [alt for found in site.values() for alt in found.alts]
    assert len(alts) > 15 and all(alts)
