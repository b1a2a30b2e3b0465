"""Exact orientation of triples of points: `orient2d` for arrays, `orientation` for one triple on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core import trust
from clgeom.core.call import unrecorded
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.errors import InvalidInput
from clgeom.hull.measures import two_difference, two_product
from clgeom.intake.arrays import (
    as_device_points,
    as_one_or_more_points,
    c_name,
    canonical_one_or_more,
    refuse_nonfinite,
    session_of,
    to_device,
)
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import AnyArray, DeviceLike

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.intake.arrays import DeviceArray

#: What the kernel writes instead of a sign for a triple with a coordinate that is NaN or infinite.
NONFINITE = 2
#: Bound of the rounding error of `left - right` in double precision, per |left + right|: Ozaki, Buenger, Ogita, Oishi,
#: Rump, "Simple floating-point filters for the two-dimensional orientation problem", BIT 56 (2016), theorem 3.1.
THETA = 3.3306690621773722e-16

#: Most undecided signs that the host computes one by one.
FEW_SIGNS = 4


@keeps_subnormals
@takes_cuda
def orient2d(a: AnyArray, b: AnyArray, c: AnyArray, *, device: DeviceLike = None) -> Any:
    """Side of the line from a to b on which the point c lies, exactly, for many triples.

    Parameters
    ----------
    a, b, c : array_like or pyopencl.array.Array, shape (n, 2) or (2,)
        float32, float64, int32 or what fits one of them; all finite. A single point stands for n equal ones. Beside
        arrays on the device, which must be of one type, others must hold numbers of that type.
    device : optional
        As everywhere in clgeom.

    Returns
    -------
    ndarray of int8, shape (n,), or a scalar for three single points
        1: c is left of a -> b (counter-clockwise); -1: right of it; 0: the three are collinear.

    Raises
    ------
    InvalidInput
        For another shape, an unsupported type, a NaN or infinity, numbers of points that differ, or arrays on the
        device of different types.
    DeviceLimit
        For float64 points on a device without float64.

    See Also
    --------
    convex_hull : Decides with the same exact signs.

    Notes
    -----
    The sign of ``(ax - cx)(by - cy) - (ay - cy)(bx - cx)``. A floating-point filter (Ozaki and others, BIT 56, 2016)
    decides nearly all triples. The rest is summed exactly in integers, for any magnitudes.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.orient2d((0, 0), (1, 0), [(0, 1), (0, -1), (5, 0)]).tolist()
    [1, -1, 0]
    """
    points: dict[str, Any] = {"a": a, "b": b, "c": c}
    rows = all([is_device_array(value) and value.ndim == 2 and len(value) > 1 for value in points.values()])
    single = False
    if rows:
        session = session_of(a, device)
    else:
        points = {name: as_one_or_more_points(value, caller="orient2d", name=name) for name, value in points.items()}
        on_device = [value for value in points.values() if is_device_array(value)]
        session = session_of(on_device[0] if on_device else None, device)
        single = all(len(value.shape) == 1 for value in points.values())
        points = _alike(points)
    arrays = {
        name: as_device_points(session, value, caller="orient2d", name=name, compared=False, checked=not rows)
        for name, value in points.items()
    }
    sizes = {name: array.n for name, array in arrays.items()}
    types = {array.dtype for array in arrays.values()}
    if len(set(sizes.values())) > 1 or len(types) > 1:
        got = ", ".join(f"{name}: {array.n} of {array.dtype}" for name, array in arrays.items())
        raise InvalidInput(
            f"The 'a', 'b' and 'c' parameters of orient2d must have equally many points of one type. Got {got} instead."
        )
    if sizes["a"] == 0:
        return np.empty(0, np.int8)
    if (
        len({len(array.chunks) for array in arrays.values()}) > 1
    ):  # limits imposed on a device, which arrays there exceed
        arrays = {name: to_device(session, array.to_host(), caller="orient2d") for name, array in arrays.items()}
    like = arrays["a"]
    key = "plans of signs", like.dtype, tuple(chunk.count for chunk in like.chunks)
    plan = session.cached(key, lambda: orient2d_plan(session, like).kept(memory=True), policies=True)
    buffers: dict[str, Any] = {**arrays}
    result = run(session, plan, **buffers)
    parts = [result.read(scratch) for scratch in plan.scratch.values()]
    signs = np.concatenate(parts) if len(parts) > 1 else parts[0]
    if signs.max() == NONFINITE:
        for name, array in arrays.items():
            refuse_nonfinite(array, caller="orient2d", name=name, drop=False)
    return signs[0] if single else signs


def _alike(points: dict[str, Any]) -> dict[str, Any]:
    """Points broadcast to one length and brought to one type; those of arrays on the device, where there are some."""
    points = {
        name: fetched(value) if is_device_array(value) and value.shape in ((2,), (1, 2)) else value
        for name, value in points.items()
    }
    on_device = [value for value in points.values() if is_device_array(value)]
    host = {
        name: canonical_one_or_more(value, caller="orient2d", name=name)
        for name, value in points.items()
        if not is_device_array(value)
    }
    if on_device:
        dtype, n = on_device[0].dtype.newbyteorder("="), on_device[0].shape[0] if on_device[0].shape else 0
    else:
        dtype = np.result_type(*host.values())
        n = max(map(len, host.values())) if all(map(len, host.values())) else 0
    for name, value in host.items():
        if value.dtype != dtype:
            with np.errstate(over="ignore", invalid="ignore"):
                cast = value.astype(dtype)
            value = cast if not on_device or np.array_equal(cast, value, equal_nan=True) else value
        points[name] = np.ascontiguousarray(np.broadcast_to(value, (n, 2)) if len(value) == 1 else value)
    return points


def orient2d_plan(session: Session, like: DeviceArray) -> Plan:
    """Return a launch per chunk; each writes its own Scratch "signs0", "signs1" ..."""
    return Plan(
        *(
            Step.over(
                session.profile,
                "hull/orient2d_signs",
                (f"a[{i}]", f"b[{i}]", f"c[{i}]", np.uint64(chunk.count), Scratch(f"signs{i}", np.int8, chunk.count)),
                chunk.count,
                dtype=like.dtype,
                most=like.n,
                params=predicate_parameters(session, like.dtype),
                bytes_moved=chunk.count * (3 * like.item_bytes + 1),
            )
            for i, chunk in enumerate(like.chunks)
        )
    )


# The self-test ---------------------------------------------------------------------------------------------------


def predicate_parameters(session: Session, dtype: np.dtype) -> dict[str, Any]:
    """Template parameters of every kernel that uses geometry/orient2d.h on this session's device.

    Once per driver and type, the device computes the signs of triples that a contracted, flushed or reassociated filter
    gets wrong. If a sign is wrong, the kernels leave the filter out and compute in integers only.
    """
    dtype = np.dtype(dtype)
    params: dict[str, Any] = session.cached(("predicate", dtype), lambda: _tried_parameters(session, dtype))
    return params


def _tried_parameters(session: Session, dtype: np.dtype) -> dict[str, Any]:
    params = {"real": c_name(dtype), "filtered": True}
    if dtype.kind == "f":
        params["filtered"] = trust.holds(
            session,
            f"clgeom.hull.predicates.witnesses {dtype.name}",
            "hull/orient2d_signs",
            lambda: _passes_witnesses(session, dtype, params),
        )
    return params


def _passes_witnesses(session: Session, dtype: np.dtype, params: dict[str, Any]) -> bool:
    a, b, c = witnesses(dtype)
    points: dict[str, Any] = {name: to_device(session, p, caller="orient2d") for name, p in zip("abc", (a, b, c))}
    signs = Scratch("signs0", np.int8, len(a))
    policy = select(session.profile, "hull/orient2d_signs", dtype, len(a))
    step = Step("hull/orient2d_signs", policy, ("a[0]", "b[0]", "c[0]", np.uint64(len(a)), signs), 1, params)
    expected = [orientation(*triple) for triple in zip(a.tolist(), b.tolist(), c.tolist())]
    with unrecorded():
        return bool(run(session, Plan(step), **points).read(signs).tolist() == expected)


def witnesses(dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """Triples whose sign is lost when a product is fused, a difference reassociated, or a subnormal flushed."""
    info = np.finfo(dtype)
    eps, tiny = float(info.eps), float(info.tiny)
    k = np.arange(1, 9)
    one = 1 + k * eps
    triples: list[list[Any]] = [
        # a nearly straight line through points a few ulps apart: det is a multiple of eps**2
        [(one, one), (12 * one, 12 * one), (24 * one, 24 * one + 8 * k % 3 * eps)],
        [(0.5 + k * eps / 2, 0.5 + eps / 2), (12 + 0 * one, 12 + 0 * one), (24 + 0 * one, 24 + 0 * one)],
        # differences that cancel to one ulp
        [(one, one + eps), (one + 2 * eps, one + 3 * eps), (one + eps, one + 2 * eps)],
        # subnormal differences, and products that underflow
        [(tiny * one, tiny * one), (tiny * (one + eps), tiny * one), (tiny * one, tiny * (one - 2 * eps))],
        [(0 * one, 0 * one), (tiny * k, 0 * one), (0 * one, k % 3 * float(info.smallest_subnormal))],
        # a fused x*y - x*y leaves the rounding error of one product
        [(0 * one, 0 * one), (one, one + eps), (3 * one, 3 * (one + eps))],
    ]
    return tuple(
        np.concatenate([np.stack(np.broadcast_arrays(*triple[corner]), axis=1) for triple in triples]).astype(dtype)
        for corner in range(3)
    )


# On the host -----------------------------------------------------------------------------------------------------


def host_signs(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the exact signs of `orient2d` for float64 points of shape (n, 2), computed on the host."""
    with np.errstate(all="ignore"):
        (ax, ay), (bx, by), (cx, cy) = a.T, b.T, c.T
        left, right = (ax - cx) * (by - cy), (ay - cy) * (bx - cx)
        decided = np.abs(left - right) > THETA * np.abs(left + right) + 1e-307
        signs = np.sign(left - right)
    rest = np.flatnonzero(~decided)
    if len(rest) > FEW_SIGNS:
        signs[rest], known = _signs_of_products(a[rest], b[rest], c[rest])
        rest = rest[~known]
    for i in rest:
        signs[i] = orientation(a[i].tolist(), b[i].tolist(), c[i].tolist())
    return np.asarray(signs, np.int8)


def _signs_of_products(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return signs, and whether they are exact: where differences are, and products as sums of two numbers."""
    with np.errstate(all="ignore"):
        (to_a, error_a), (to_b, error_b) = two_difference(a, c), two_difference(b, c)
        left, left_error = two_product(to_a[:, 0], to_b[:, 1])
        right, right_error = two_product(to_a[:, 1], to_b[:, 0])
        signs = np.where(left == right, np.sign(left_error - right_error), np.sign(left - right))
    sizes = np.abs(np.concatenate([to_a, to_b], axis=1))
    known = ((sizes == 0) | ((sizes > 2.0**-400) & (sizes < 2.0**400))).all(axis=1)
    return signs, known & (error_a == 0).all(axis=1) & (error_b == 0).all(axis=1)


def orientation(a: Sequence[Any], b: Sequence[Any], c: Sequence[Any]) -> int:
    """Return the exact sign of `orient2d` for one triple of pairs of Python numbers."""
    (ax, ay), (bx, by), (cx, cy) = a, b, c
    left, right = (ax - cx) * (by - cy), (ay - cy) * (bx - cx)
    # the comparison is false, too, where something overflowed
    if isinstance(left, float) and not abs(left - right) > THETA * abs(left + right) + 1e-307:
        from fractions import Fraction  # seldom needed, and long to import

        ax, ay, bx, by, cx, cy = map(Fraction, (ax, ay, bx, by, cx, cy))
        left, right = (ax - cx) * (by - cy), (ay - cy) * (bx - cx)
    sign: int = (left > right) - (left < right)
    return sign
