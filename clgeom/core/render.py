"""OpenCL C from a template and its parameters. An undefined name in a template is an error, never empty text.

What a template gives is kept in the user's cache: to import Mako and to compile a template takes longer than to read
it. Parameters of several lines, the functions of an equation, are inserted afterwards. So new equations take a kept
text, too, and the cache does not grow with their number.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from clgeom import caches
from clgeom.core import sources
from clgeom.errors import KernelBuildError

if TYPE_CHECKING:
    from mako.template import Template

#: Types of parameters of which repr() says all.
PLAIN = (str, int, float, bool, type(None))
#: What stands for a parameter of several lines until it is inserted: no OpenCL C has this character outside of texts.
PLACE = re.compile("@([a-z_]+)@")


@functools.lru_cache(maxsize=512)
def _compiled(text: str) -> Template:
    from mako.template import Template

    return Template(text, strict_undefined=True)


def render(kernel: str, **parameters: Any) -> str:
    """OpenCL C of a kernel ("family/kernel") for these template parameters, headers inlined."""
    return render_text(sources.template(kernel, parameters.get("variant", "group")), kernel, **parameters)


def render_text(text: str, kernel: str = "text", **parameters: Any) -> str:
    """OpenCL C of a template given as text."""
    long = {key: value for key, value in parameters.items() if type(value) is str and "\n" in value}
    parameters.update((key, f"@{key}@") for key in long)
    name = None
    if all(map(_is_plain, parameters.values())):
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
    body = sources.inline_headers(body)
    return PLACE.sub(lambda place: long.get(place[1], place[0]), body) if long else body


def _is_plain(value: object) -> bool:
    """Return whether repr() says all of a value: of a plain one, or of a tuple of such."""
    return all(map(_is_plain, value)) if type(value) is tuple else type(value) in PLAIN
