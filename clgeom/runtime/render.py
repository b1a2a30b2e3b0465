"""OpenCL C from a template and its parameters. An undefined name in a template is an error, never empty text."""

from __future__ import annotations

import functools

from clgeom.errors import KernelBuildError
from clgeom.runtime import sources


@functools.cache
def _compiled(text: str):
    from mako.template import Template

    return Template(text, strict_undefined=True)


def render(kernel: str, **parameters) -> str:
    """OpenCL C of a kernel ("family/kernel") for these template parameters, headers inlined.

    The parameter `variant` also chooses the file: see `sources.template`.
    """
    return render_text(sources.template(kernel, parameters.get("variant", "group")), kernel, **parameters)


def render_text(text: str, kernel: str = "text", **parameters) -> str:
    """OpenCL C of a template given as text."""
    try:
        body = _compiled(text).render(**parameters)
    except NameError as error:
        raise KernelBuildError(f"The template of {kernel} needs a parameter that was not given: {error}.") from error
    return sources.inline_headers(body)
