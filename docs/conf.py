"""The site: ``sphinx-build -W -b html docs build/site``.

The environment variable CLGEOM_REPOSITORY names the address of the repository; without it, no page links to one.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import problem_pages  # noqa: E402

import clgeom  # noqa: E402
from clgeom import dp, errors, radio  # noqa: E402

project = "clgeom"
author = copyright = "the clgeom authors"
version = release = clgeom.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["images", "inventories"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = False

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # numpydoc's sections have the types, in words that the annotations' unions lack
autodoc_member_order = "bysource"
maximum_signature_line_length = 80
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    "array_like": "numpy.asarray",
    "ndarray": "numpy.ndarray",
    "dtype": "numpy.dtype",
    "pyopencl.array.Array": ":obj:`pyopencl.array.Array`",
    "pyopencl.Device": ":obj:`pyopencl.Device`",
    **{name: f"clgeom.{name}" for name in clgeom.__all__ if isinstance(getattr(clgeom, name), type)},
    **{name: f"clgeom.dp.{name}" for name in dp.__all__ if isinstance(getattr(dp, name), type)},
    **{name: f"clgeom.radio.{name}" for name in radio.__all__ if isinstance(getattr(radio, name), type)},
    **{name: f"clgeom.errors.{name}" for name, value in vars(errors).items() if isinstance(value, type)},
}
suppress_warnings = ["config.cache"]

#: Other projects whose documentation links.rst names. The inventories list the names that clgeom's pages use: the build
#: needs no network.
OTHERS = re.findall(r"documentation of (\w+): (\S+)", (ROOT / "docs" / "links.rst").read_text(encoding="utf-8"))
intersphinx_mapping = {name.lower(): (address, f"inventories/{name.lower()}.inv") for name, address in OTHERS}

nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_render_image_options = {"alt": "The picture that the cell above draws"}
#: Where there is something to type, which excludes outputs: prompts and the results below them are not copied.
copybutton_selector = ", ".join(
    f"div.{kind} pre" for kind in ("highlight-python", "highlight-ipython3", "highlight-sh", "doctest")
)
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"clgeom {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
pygments_style = "default"
highlight_language = "none"

#: Members of public classes that only clgeom's own modules use.
INTERNAL = {
    "DeviceProfile.require_fp64",
    "Region.of_chains",
    *(f"Equation.{name}" for name in ("computed", "decision_dtype", "roots", "text", "wide")),
    *(f"Session.{name}" for name in ("cached", "copy_queue", "others", "profiling_queue", "rank_again")),
    *(f"Session.{name}" for name in ("shuffle", "unlimited")),
}

repository = os.environ.get("CLGEOM_REPOSITORY", "").rstrip("/")
if repository:  # the theme's own links to sources know few hosts
    html_theme_options = {"footer_icons": [{"name": "Source", "url": repository, "html": "Source", "class": ""}]}


def write_commands(app):
    """Write reference/generated/commands.rst: the help of every command and subcommand, as the terminal shows it."""
    import click

    from clgeom.commands.main import cli

    def helps(command, name, parent=None):
        settings = {**command.context_settings, "max_content_width": 100, "terminal_width": 100}
        context = click.Context(command, info_name=name, parent=parent, **settings)
        yield context.command_path, command.get_help(context)
        for child in command.list_commands(context) if isinstance(command, click.Group) else ():
            yield from helps(command.get_command(context, child), child, context)

    parts = ["The command line\n================\n"]
    for path, text in helps(cli, "clgeom"):
        body = "\n".join(f"   {line}".rstrip() for line in text.splitlines())
        parts.append(f"{path}\n{'-' * len(path)}\n\n.. code-block:: none\n\n{body}\n")
    page = Path(app.srcdir, "reference", "generated", "commands.rst")
    page.parent.mkdir(exist_ok=True)
    content = "\n".join(parts)
    if not page.exists() or page.read_text(encoding="utf-8") != content:
        page.write_text(content, encoding="utf-8")


def write_notebooks(app):
    """Copy the notebooks of examples/ to reference/generated/notebooks, where the build executes them."""
    folder = Path(app.srcdir, "reference", "generated", "notebooks")
    folder.mkdir(parents=True, exist_ok=True)
    for notebook in (ROOT / "examples").glob("*.ipynb"):
        copy, text = folder / notebook.name, notebook.read_bytes()
        if not copy.exists() or copy.read_bytes() != text:
            copy.write_bytes(text)
    # The kernels import the checkout's clgeom, from a temporary folder.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


def link_names(app, document):
    """Make a link of each literal that is a full name, such as ``clgeom.convex_hull`` or ``numpy.asarray``."""
    from docutils import nodes
    from sphinx.addnodes import pending_xref

    for literal in list(document.findall(nodes.literal)):
        name = literal.astext().removesuffix("()")
        inside = isinstance(literal.parent, (nodes.reference, nodes.title, pending_xref))
        if not inside and re.fullmatch(r"(clgeom|numpy|pyopencl|scipy|shapely)(\.\w+)+", name):
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=name, refdoc=app.env.docname)
            literal.replace_self(link)
            link += literal


def link_to_pages(app, pagename, templatename, context, doctree):
    """Link sources to pages without anchors: viewcode's are wrong where a module is listed under two names."""
    if pagename.startswith("_modules/"):
        context["body"] = re.sub(r'(class="viewcode-back" href="[^"#]*)#[^"]*', r"\1", context["body"])


def skip_internal(app, what, name, member, skip, options):
    """Leave the members of INTERNAL out of the pages of their classes."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    return True if getattr(function, "__qualname__", None) in INTERNAL else None


def setup(app):
    from numpydoc.xref import DEFAULT_LINKS

    DEFAULT_LINKS.clear()  # they lead to sections of NumPy and Python that the inventories lack
    app.connect("builder-inited", write_commands)
    app.connect("builder-inited", write_notebooks)
    app.connect("builder-inited", problem_pages.write_pages)
    app.connect("doctree-read", link_names)
    app.connect("html-page-context", link_to_pages)
    app.connect("autodoc-skip-member", skip_internal)
