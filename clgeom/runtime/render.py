"""OpenCL C from a template and its parameters. An undefined name in a template is an error, never empty text.

What a template gives is kept in the user's cache: to import Mako and to compile a template takes longer than to read
it.
"""

from __future__ import annotations

import functools

from clgeom.errors import KernelBuildError
from clgeom.runtime import caches, sources

#: Types of parameters of which repr() says all.
PLAIN = (str, int, float, bool, type(None))


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
    name = None
    if all(type(value) in PLAIN for value in parameters.values()):
        name = caches.digest_of(repr((text, sorted(parameters.items()))))
    body = caches.kept(name) if name else None
    if body is None:
        try:
            body = _compiled(text).render(**parameters)
        except NameError as error:
            raise KernelBuildError(
                f"The template of {kernel} needs a parameter that was not given: {error}."
            ) from error
        if name:
            caches.keep(name, body)
    return sources.inline_headers(body)
