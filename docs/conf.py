"""The site: ``sphinx-build -W -b html docs build/site``.

The environment variable CLGEOM_REPOSITORY names the address of the repository; without it, no page links to one.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import problem_pages  # noqa: E402

import clgeom  # noqa: E402

project = "clgeom"
author = copyright = "the clgeom authors"
version = release = clgeom.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["images"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = False

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
suppress_warnings = ["config.cache"]

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
    "Region.on_device",
    *(f"Equation.{name}" for name in ("computed", "decision_dtype", "recovery", "roots", "text", "wide")),
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


def skip_internal(app, what, name, member, skip, options):
    """Leave the members of INTERNAL out of the pages of their classes."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    return True if getattr(function, "__qualname__", None) in INTERNAL else None


def setup(app):
    app.connect("builder-inited", write_commands)
    app.connect("builder-inited", problem_pages.write_pages)
    app.connect("autodoc-skip-member", skip_internal)
