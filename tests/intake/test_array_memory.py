"""Device arrays that claim more memory than they have: an error in every function, and no read beyond a buffer."""

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from effort import LONG

import clgeom
from clgeom import dp, radio
from clgeom.errors import ClgeomError, InvalidInput
from clgeom.intake import device_arrays
from clgeom.intake.device_arrays import fetched
from clgeom.primitives.compact import compact

BYTES = 512
REFUSED = (
    r"must (lie within its memory|have memory|have a size that fits|be in the same|be in a buffer|have a shape"
    r"|be contiguous)"
)
#: Messages for arrays of another shape than that of the call's other arrays, or of more items than a device takes.
OTHERS = r"must|takes at most|allows|memory left"


def holders(session):
    """Ways of holding `BYTES` bytes, each with the number of bytes that pyopencl says it has."""
    whole = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, 4096)
    pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(session.queue))
    made = {
        "buffer": cl.Buffer(session.context, cl.mem_flags.READ_WRITE, BYTES),
        "part": whole.get_sub_region(1024, BYTES),
        "pooled": pool.allocate(BYTES),
    }
    if getattr(session.device, "svm_capabilities", 0):
        made["shared"] = cl.tools.SVMAllocator(session.context, queue=session.queue)(BYTES)
    return made


def claimed(session, memory, shape, dtype, offset=0, strides=None):
    return cl_array.Array(session.queue, shape, dtype, data=memory, offset=offset, strides=strides)


def true_items(content, shape, dtype, offset, strides, held):
    """The items as NumPy has them; None if one lies beyond the memory, by the bytes of each corner."""
    corners = [offset]
    for n, stride in zip(shape, strides):
        corners = [corner + k * stride for corner in corners for k in (0, n - 1)]
    if min(corners) < 0 or max(corners) + np.dtype(dtype).itemsize > held:
        return None
    return np.ndarray(shape, dtype, content.tobytes(), offset, strides)


def random_claim(rng):
    """(shape, dtype, offset, strides) near the limits of `BYTES` bytes, inside or outside."""
    dtype = np.dtype(rng.choice(["uint8", ">i2", "float32", "int64", ">f8"]))
    shape = tuple(int(n) for n in rng.integers(1, rng.choice([4, 9, 80]), rng.integers(1, 4)))
    strides = []
    for _ in shape:
        inner = strides[0] * shape[-len(strides)] if strides else dtype.itemsize
        strides.insert(0, int(rng.choice([inner, inner, -inner, 0, inner + dtype.itemsize, 3, rng.integers(-40, 40)])))
    back = -sum(min((n - 1) * stride, 0) for n, stride in zip(shape, strides))
    reach = back + sum(max((n - 1) * stride, 0) for n, stride in zip(shape, strides)) + dtype.itemsize
    offset = int(rng.choice([0, back, back, back + BYTES - reach, back + BYTES - reach + 1, back - 1, back + 4]))
    return shape, dtype, offset, tuple(strides)


@pytest.mark.settings("as_is", "as_gpu")
def test_random_claims_are_read_as_numpy_does_or_refused(any_session):
    rng, content = np.random.default_rng(34), np.random.default_rng(3).integers(1, 60, BYTES, np.uint8)
    counts = {True: 0, False: 0}
    made = holders(any_session)
    for memory in made.values():
        claimed(any_session, memory, (BYTES,), np.uint8).set(content)
    for k in range(3000 if LONG else 120):
        kind = list(made)[k % len(made)]
        held = made[kind].size
        shape, dtype, offset, strides = random_claim(rng)
        array = claimed(any_session, made[kind], shape, dtype, offset, strides)
        expected = true_items(np.append(content, np.zeros(held - BYTES, np.uint8)), shape, dtype, offset, strides, held)
        counts[expected is None] += 1
        if expected is None:
            with pytest.raises(InvalidInput, match=REFUSED):
                fetched(array)
            with pytest.raises(InvalidInput, match=REFUSED):
                clgeom.sort(array, axis=None)
        elif offset + expected.nbytes <= BYTES and kind != "pooled":
            np.testing.assert_array_equal(fetched(array), expected)
            found = fetched(clgeom.sort(array, axis=None))
            np.testing.assert_array_equal(found, np.sort(expected, axis=None))
    assert min(counts.values()) > 20


KEYS, POINTS = ((100,), np.float32), ((100, 2), np.float32)
INTEGERS, RASTER, LETTERS = ((100,), np.int32), ((20, 20), np.float32), ((100,), np.uint8)
TABLE = dp.Equation("w[j]", parameters={"w": "int32[]"}, pattern="RUD")


def there(session, values):
    return cl_array.to_device(session.queue, np.asarray(values))


def zeros(session, shape, dtype):
    return cl_array.zeros(session.queue, shape, dtype)


#: Each parameter that takes device arrays: a shape, a type, and the call with the array.
ENTRIES = {
    "sort keys": (*KEYS, lambda s, a: clgeom.sort(a)),
    "sort keys by rows": (*POINTS, lambda s, a: clgeom.sort(a, axis=0)),
    "sort out": (*KEYS, lambda s, a: clgeom.sort(zeros(s, *KEYS), out=a)),
    "sort out of rows": (*POINTS, lambda s, a: clgeom.sort(zeros(s, *POINTS), axis=0, out=a)),
    "sort offsets": (*INTEGERS, lambda s, a: clgeom.sort(zeros(s, *KEYS), offsets=a)),
    "argsort keys": (*KEYS, lambda s, a: clgeom.argsort(a)),
    "argsort out": ((100,), np.uint32, lambda s, a: clgeom.argsort(zeros(s, *KEYS), out=a)),
    "sort_by_key keys": (*KEYS, lambda s, a: clgeom.sort_by_key(a, zeros(s, *KEYS))),
    "sort_by_key values": (*KEYS, lambda s, a: clgeom.sort_by_key(zeros(s, *KEYS), a)),
    "sort_by_key rows": (*POINTS, lambda s, a: clgeom.sort_by_key(zeros(s, *KEYS), a)),
    "sort_by_key out": (
        *KEYS,
        lambda s, a: clgeom.sort_by_key(zeros(s, *KEYS), zeros(s, *KEYS), out=(zeros(s, *KEYS), a)),
    ),
    "shellsort keys": (*KEYS, lambda s, a: clgeom.shellsort(a, device=s)),
    "topk keys": (*KEYS, lambda s, a: clgeom.topk(a, 3)),
    "partition keys": (*KEYS, lambda s, a: clgeom.partition(a, 3)),
    "argpartition keys": (*KEYS, lambda s, a: clgeom.argpartition(a, 3)),
    "take values": (*KEYS, lambda s, a: clgeom.take(a, there(s, [0]))),
    "take rows": (*POINTS, lambda s, a: clgeom.take(a, there(s, [0]), axis=0)),
    "take indices": (*INTEGERS, lambda s, a: clgeom.take(there(s, [1]), a, mode="clip")),
    "searchsorted haystack": (*KEYS, lambda s, a: clgeom.searchsorted(a, zeros(s, 3, np.float32))),
    "searchsorted needles": (*KEYS, lambda s, a: clgeom.searchsorted(zeros(s, 3, np.float32), a)),
    "searchsorted sorter": (*INTEGERS, lambda s, a: clgeom.searchsorted(*2 * [zeros(s, *KEYS)], sorter=a)),
    "unique values": (*KEYS, lambda s, a: clgeom.unique(a, return_inverse=True)),
    "bincount numbers": (*LETTERS, lambda s, a: clgeom.bincount(a)),
    "histogram values": (*KEYS, lambda s, a: clgeom.histogram(a, 3, range=(0, 1))),
    "histogram edges": (*KEYS, lambda s, a: clgeom.histogram(zeros(s, *KEYS), a)),
    "lexsort keys": (*POINTS, lambda s, a: clgeom.lexsort(a)),
    "lexsort of several": (*KEYS, lambda s, a: clgeom.lexsort((zeros(s, *KEYS), a))),
    "compact flags": (*LETTERS, lambda s, a: compact(a)),
    "convex_hull points": (*POINTS, lambda s, a: clgeom.convex_hull(a)),
    "convex_hull left out": (*POINTS, lambda s, a: clgeom.convex_hull(a, nonfinite="drop")),
    "convex_hull converted": ((100, 2), np.uint8, lambda s, a: clgeom.convex_hull(a)),
    "contains points": (*POINTS, lambda s, a: clgeom.convex_hull([(0, 0), (1, 0), (0, 1)], device=s).contains(a)),
    "ConvexHull points": (*POINTS, lambda s, a: clgeom.ConvexHull(a)),
    "convex_hulls points": (*POINTS, lambda s, a: clgeom.convex_hulls(a, [0, 50, 100])),
    "convex_hulls offsets": (*INTEGERS, lambda s, a: clgeom.convex_hulls(zeros(s, *POINTS), a)),
    "by_label points": (*POINTS, lambda s, a: clgeom.convex_hulls_by_label(a, np.zeros(100, int))),
    "by_label labels": (*INTEGERS, lambda s, a: clgeom.convex_hulls_by_label(zeros(s, *POINTS), a)),
    "by_label float labels": (*KEYS, lambda s, a: clgeom.convex_hulls_by_label(zeros(s, *POINTS), a)),
    "heaphull_filter points": (*POINTS, lambda s, a: clgeom.heaphull_filter(a)),
    "upper_hood points": (*POINTS, lambda s, a: clgeom.upper_hood(a)),
    "orient2d a": (*POINTS, lambda s, a: clgeom.orient2d(a, a, (0, 0), device=s)),
    "adaptive_region points": (*POINTS, lambda s, a: clgeom.adaptive_region(a, 3)),
    "coverage_regions raster": (*RASTER, lambda s, a: clgeom.coverage_regions(a, [0.5], outline="segments")),
    "covered_area raster": (*RASTER, lambda s, a: clgeom.covered_area(a, [0.5])),
    "free_space distance": (*RASTER, lambda s, a: radio.free_space(a, frequency=900.0)),
    "terrain_loss ground": (
        *RASTER,
        lambda s, a: radio.terrain_loss(radio.Transmitter(3, 3, 40.0), a),
    ),
    "align sequence": (*LETTERS, lambda s, a: clgeom.align(a, "ACG", device=s)),
    "align rows": ((20, 5), np.uint8, lambda s, a: clgeom.align(a, "ACG", device=s)),
    "align offsets": (*INTEGERS, lambda s, a: clgeom.align(zeros(s, *LETTERS), "ACG", a_offsets=a, device=s)),
    "edit_distance rows": ((20, 5), np.uint8, lambda s, a: dp.problems.edit_distance(a, a)),
    "edit_distance letters": (
        *LETTERS,
        lambda s, a: dp.problems.edit_distance((a, [0, 50, 100]), (a, [0, 50, 100])),
    ),
    "edit_distance offsets": (*INTEGERS, lambda s, a: dp.problems.edit_distance(*2 * [(zeros(s, *LETTERS), a)])),
    "fill parameter": (*INTEGERS, lambda s, a: dp.fill(TABLE, (1, 100), w=a)),
}


def lies(session, shape, dtype):
    """Arrays of this shape and type that have less memory than they claim, by name."""
    item, count = np.dtype(dtype).itemsize, int(np.prod(shape))
    nbytes = count * item
    whole = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, 1 << 14)
    enough = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, nbytes)
    mutated = zeros(session, shape, dtype)
    rows = tuple(-stride for stride in zeros(session, shape, dtype).strides)
    made = {
        "short": claimed(session, cl.Buffer(session.context, cl.mem_flags.READ_WRITE, 8), shape, dtype),
        "short by a byte": claimed(session, whole.get_sub_region(0, nbytes - 1), shape, dtype),
        "a short part": claimed(session, whole.get_sub_region(4096, 8), shape, dtype),
        "behind the end": claimed(session, enough, shape, dtype, offset=item),
        "far behind": claimed(session, enough, shape, dtype, offset=1 << 62),
        "before the begin": claimed(session, whole, shape, dtype, offset=-item),
        "backwards": claimed(session, whole, shape, dtype, strides=rows),
        "wide": claimed(
            session, whole, shape, dtype, strides=tuple(s * 1024 for s in zeros(session, shape, dtype).strides)
        ),
        "around": claimed(session, whole, shape, dtype, strides=(1 << 62, *rows[1:])),
        "huge": claimed(session, whole, (1 << 40, *shape[1:]), dtype),
        "overflow": claimed(session, whole, (1 << 62, *(4 if len(shape) == 1 else n for n in shape[1:])), dtype),
        "few strides": claimed(session, whole, shape, dtype, strides=(item,) * (len(shape) - 1)),
        "no memory": claimed(session, b"0" * nbytes, shape, dtype),
        "no integers": claimed(session, whole, shape, dtype, offset=0.5),
        "mutated": mutated,
    }
    if len(shape) == 1:
        del made["overflow"]  # no product
    mutated.shape = (1000, *shape[1:])
    if getattr(session.device, "svm_capabilities", 0):
        shared = cl.tools.SVMAllocator(session.context, queue=session.queue)
        made["short shared"] = claimed(session, shared(8), shape, dtype)
    return made


@pytest.mark.parametrize(
    "function",
    (
        lambda letters, points: dp.cdist([letters], [letters]),
        lambda letters, points: dp.fill_batch(TABLE, [(1, 9)] * 2, w=[letters, letters]),
        lambda letters, points: clgeom.align(letters, letters),
        lambda letters, points: clgeom.align([letters], [letters]),
        lambda letters, points: clgeom.convex_hulls(points, [0, 1]),
        lambda letters, points: clgeom.convex_hulls_by_label(points, np.zeros(5, int)),
    ),
)
def test_huge_and_negative_claims_in_lists_and_before_sizes_are_asked_for(session, function):
    letters, points = zeros(session, *LETTERS), zeros(session, (5, 2), np.float32)
    letters.shape, points.shape = (1 << 62,), (-5, 2)
    with pytest.raises(InvalidInput):
        function(letters, points)


@pytest.mark.parametrize("entry", ENTRIES)
def test_claims_are_refused_wherever_arrays_are_taken(session, entry):
    shape, dtype, function = ENTRIES[entry]
    for name, array in lies(session, shape, dtype).items():
        with pytest.raises(ClgeomError, match=OTHERS if array.shape != shape else REFUSED):
            function(session, array)
            pytest.fail(f"{entry}: {name}")


@pytest.mark.parametrize("function", (clgeom.sort, clgeom.argsort, clgeom.unique, fetched))
def test_released_memory_is_refused(session, function):
    for memory in holders(session).values():
        array = claimed(session, memory, (BYTES // 4,), np.float32)
        if isinstance(memory, (cl.Buffer, cl.SVMPointer)) and not isinstance(memory, cl.tools.PooledSVM):
            memory.release()
            with pytest.raises(InvalidInput, match="must have memory. Got an array whose"):
                function(array)


def test_arrays_without_context_or_items(session):
    whole = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, 8)
    with pytest.raises(InvalidInput, match="must have a context"):
        clgeom.sort(cl_array.Array(None, (2,), np.float32, data=whole))
    for offset in (0, -4, 1 << 40):  # nothing is read
        assert len(clgeom.sort(claimed(session, whole, (0,), np.float32, offset))) == 0
        assert clgeom.convex_hull(claimed(session, whole, (0, 2), np.float32, offset)).n == 0


@pytest.mark.parametrize("offsets", ([0, 10**9, 4], [0, 4, 2], [2, 1, 4]))
def test_offsets_of_arrow_that_descend_are_refused(session, offsets):
    """PyArrow compares the first and the last one only."""
    pa = pytest.importorskip("pyarrow")
    buffers = [None, pa.py_buffer(np.array(offsets, np.int64)), pa.py_buffer(b"ACGT")]
    texts = pa.Array.from_buffers(pa.large_string(), 2, buffers)
    for function in (
        lambda: clgeom.align(texts, "ACG", device=session),
        lambda: dp.problems.edit_distance(texts, texts),
    ):
        with pytest.raises(InvalidInput, match="offsets of an Arrow array of text must never descend"):
            function()


def test_arrays_on_a_device_are_checked_once_a_call(session, monkeypatch):
    points = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    array, offsets = cl_array.to_device(session.queue, points), np.array([0, 20, 50])
    calls = {
        "hull": (lambda: clgeom.convex_hull(array), 1),
        "hull of finite points": (lambda: clgeom.convex_hull(array, nonfinite="drop"), 1),
        "hulls": (lambda: clgeom.convex_hulls(array, offsets), 1),
        "filter": (lambda: clgeom.heaphull_filter(array), 1),
        "signs": (lambda: clgeom.orient2d(array, array, array), 3),
    }
    for call, _ in calls.values():
        call()
    seen, problem = [], device_arrays._memory_problem
    monkeypatch.setattr(
        device_arrays, "_memory_problem", lambda session, one: seen.append(one is array) or problem(session, one)
    )
    for name, (call, count) in calls.items():
        seen.clear()
        call()
        assert sum(seen) == count, name
