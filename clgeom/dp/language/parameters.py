"""Parameters of equations: the numbers and arrays that a cell's function reads, and their declarations in C."""

from __future__ import annotations

import functools
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import instance
from clgeom.core import sources
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.types import C_NAME, CELL_TYPES
from clgeom.errors import InvalidInput, short
from clgeom.intake.arrays import c_name

if TYPE_CHECKING:
    from clgeom.dp.language.traced import EquationBase

PARAMETER_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", "float32", "float64")
#: Names that parameters must not have: words of OpenCL C, and names that every cell's function uses.
RESERVED = frozenset(
    "i j n m M D out out_size out_t decision cell_t index_t auto break case char const continue "
    "default do double else enum extern float for goto if inline int long register restrict return "
    "short signed sizeof static struct switch typedef union unsigned void volatile while bool half "
    "uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t event_t image2d_t image3d_t "
    "sampler_t true false NULL global local constant private kernel read_only write_only read_write "
    "NAN INFINITY MAXFLOAT HUGE_VAL HUGE_VALF".split()
)
#: Before the name of a parameter as a kernel's argument: no other name in a kernel begins so.
GIVEN = "dp_given_"
RESERVED_STEMS = tuple("dp_ DP_ CLGEOM __ FLT_ DBL_ INT_ LONG_ UINT_ ULONG_ CL_ CLK_ M_ FP_".split())
MACRO = re.compile(r"^\s*#\s*define\s+(\w+)", re.MULTILINE)


@keeps_subnormals
@dataclass(frozen=True)
class Parameter:
    """A parameter of an equation: a scalar (`ndim` 0) or an array of one or two dimensions.

    Attributes
    ----------
    name : str
        As the equation names it.
    dtype : numpy.dtype
        Of its values.
    ndim : int
        0 for a number, 1 for an array, 2 for a table.

    Examples
    --------
    >>> from clgeom import dp
    >>> f = dp.Equation("w[j] * scale", parameters={"w": "int32[]", "scale": "int32"})
    >>> f.parameters["w"].dtype, f.parameters["w"].ndim, f.parameters["scale"].ndim
    (dtype('int32'), 1, 0)
    """

    name: str
    dtype: np.dtype[Any]
    ndim: int

    @property
    def c_type(self) -> str:
        """The type of its values in OpenCL C."""
        return c_name(self.dtype)

    @property
    def type(self) -> str:
        """The type of its values in expressions; integers of 8 and 16 bits count as int."""
        return CELL_TYPES.get(self.dtype.name, "int")

    def __str__(self) -> str:
        return self.dtype.name + ("", "[]", "[,]")[self.ndim]


# From users -------------------------------------------------------------------------------------------------------


def parameters_of(types: Any) -> dict[str, Parameter]:
    """Return the `parameters` parameter of Equation, checked."""
    instance(types, dict, "a dictionary of names and types", "parameters", caller="Equation")
    parameters = {name: parameter(name, what) for name, what in types.items()}
    owners: dict[str, str] = {}
    for p in parameters.values():
        for name in names_of(p):
            if name in owners:
                raise InvalidInput(f"The parameters {owners[name]!r} and {p.name!r} share the name {name!r} in C.")
            owners[name] = p.name
    return parameters


def require_c_name(name: Any, what: str) -> None:
    """Refuse a name that C or Python does not allow; `what` begins the message."""
    if not isinstance(name, str) or not C_NAME.match(name) or keyword.iskeyword(name):
        raise InvalidInput(f"{what} a name in C and in Python. Got {short(name)} instead.")


@functools.cache
def _macros() -> frozenset[str]:
    """Return the macros of the kernels that compute cells, in which they would replace a parameter."""
    kernels = [kernel for kernel in sources.kernels() if kernel.startswith("dp/")]
    texts = {sources.template(kernel, variant) for kernel in kernels for variant in ("group", "serial")}
    return frozenset(name for text in texts for name in MACRO.findall(sources.inline_headers(text)))


def parameter(name: str, what: Any) -> Parameter:
    """Return a parameter from "int32", "int32[]" or "int32[,]"; a NumPy type stands for a scalar."""
    require_c_name(name, "A parameter's name must be")
    if name in RESERVED or name.startswith(RESERVED_STEMS):
        raise InvalidInput(f"A parameter cannot be called {name!r}: this name has a meaning in every equation.")
    if name.isupper() and name in _macros():
        raise InvalidInput(f"A parameter cannot be called {name!r}: this name has a meaning in a kernel.")
    if isinstance(what, Parameter):
        return Parameter(name, what.dtype, what.ndim)
    ndim, dtype = 0, what
    if isinstance(what, str):
        dtype = what.replace(" ", "")
        for suffix, dimensions in (("[,]", 2), ("[][]", 2), ("[]", 1)):
            if dtype.endswith(suffix):
                dtype, ndim = dtype.removesuffix(suffix), dimensions
                break
    try:
        dtype = np.dtype(dtype)
    except TypeError:
        dtype = None
    if dtype is None or dtype.name not in PARAMETER_TYPES:
        raise InvalidInput(
            f"The parameter {name!r} of an equation must be one of {', '.join(PARAMETER_TYPES)}, with [] for an array "
            f"and [,] for a table. Got {short(what)} instead."
        )
    return Parameter(name, dtype.newbyteorder("="), ndim)


def require_declared(names: list[str], known: tuple[str, ...], function: str, *, caller: str) -> None:
    """Refuse a traced function that takes a parameter its equation does not declare."""
    extra = [name for name in names if name not in known]
    if extra:
        raise InvalidInput(
            f"The function {function} takes {', '.join(extra)}, which the 'parameters' of {caller} do not name. "
            f"Declare each, such as {declaration(extra[0])}."
        )


def require_given(equation: EquationBase, given: Mapping[str, Any], *, caller: str) -> None:
    """Refuse a call without one of the equation's parameters."""
    for p in equation.parameters.values():
        if p.name not in given:
            raise InvalidInput(
                f"{caller} of {equation.name} needs the parameter {p.name!r} ({p}), which was not given."
            )


def declaration(name: str, value: Any = None) -> str:
    """Return how an equation declares a parameter of this value, for messages; an array of letters without one."""
    what = "uint8[]"
    if value is not None and not isinstance(value, (str, bytes)):
        try:
            array = np.asarray(value)
        except (ValueError, TypeError):
            array = np.empty(0, np.uint8)
        dtype = np.dtype(np.int32) if array.dtype.kind == "i" and not hasattr(value, "dtype") else array.dtype
        if dtype.name in PARAMETER_TYPES and array.ndim <= 2:
            what = dtype.name + ("", "[]", "[,]")[array.ndim]
    return f'parameters={{"{name}": "{what}"}}'


# In C -------------------------------------------------------------------------------------------------------------


def names_of(p: Parameter, prefix: str = "") -> list[str]:
    """Return the C names of a parameter: its own, and those of its sizes."""
    sizes = ((), ("size",), ("rows", "columns"))[p.ndim]
    return [prefix + p.name, *(f"{prefix}{p.name}_{size}" for size in sizes)]


def arguments(parameters: Mapping[str, Parameter], prefix: str = "") -> str:
    """Parameters as arguments of a C call, after others."""
    return "".join(f", {name}" for p in parameters.values() for name in names_of(p, prefix))


def declarations(parameters: Mapping[str, Parameter], prefix: str = "") -> str:
    """Parameters as declared by a C function, after others."""
    declared = ""
    for p in parameters.values():
        name, *sizes = names_of(p, prefix)
        declared += f", global const {p.c_type} *restrict {name}" if p.ndim else f", const {p.c_type} {name}"
        declared += "".join(f", const int {size}" for size in sizes)
    return declared


def taken(parameters: Mapping[str, Parameter]) -> set[str]:
    """Return the names that variables of a cell's function must not have."""
    return {name for p in parameters.values() for name in names_of(p)} | RESERVED
