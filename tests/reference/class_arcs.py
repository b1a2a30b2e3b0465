"""The arcs between classes, cell by cell and side by side: plain loops, for small rasters."""

import numpy as np

from clgeom.region.classes.arcs import Arcs

#: +x, +y, -x, -y; the left turn of each is the next one.
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))
#: The cell at the left of a step from a corner, as (column, row) from it; at the right is that of the step before.
LEFT = ((0, 0), (-1, 0), (-1, -1), (0, -1))


def class_arcs(classes, *, connectivity=4, nodata=None):
    """The `Arcs` of a raster, or of a stack of rasters."""
    stack = np.asarray(classes)
    stack = stack[None] if stack.ndim == 2 else stack
    labels, values, layers = _labelled(stack, nodata)
    opened, closed = [], []
    for layer in range(len(stack)):
        found, loops = _arcs(stack[layer], labels[layer])
        opened += [(layer, arc) for arc in found]
        closed += [(layer, arc) for arc in loops]
    arcs = opened + closed
    sides = [_sides(labels[layer], arc) for layer, arc in arcs]
    rings = _rings(labels, arcs, sides)
    face_rings, ring_arcs, cells = [0], [], []
    for face in range(len(values)):
        own = sorted((area < 0, min(map(_number, one)), one) for area, one in rings[face])
        ring_arcs += [one for _, _, one in own]
        face_rings.append(len(ring_arcs))
        cells.append(int((labels == face).sum()))
    points = [point for _, arc in arcs for point in arc]
    return Arcs(
        stack.shape,
        np.array(points, np.int32).reshape(-1, 2),
        np.cumsum([0] + [len(arc) for _, arc in arcs]),
        np.array([left for left, _ in sides], np.int32),
        np.array([right for _, right in sides], np.int32),
        np.array(values, stack.dtype),
        np.array(layers, np.int32),
        np.array(cells, np.int64),
        _regions(stack, labels, len(values), connectivity),
        np.array(face_rings, np.int64),
        np.cumsum([0] + [len(one) for one in ring_arcs]),
        np.array([arc for one in ring_arcs for arc in one], np.int32),
    )


def _number(arc):
    return arc if arc >= 0 else ~arc


def _labelled(stack, nodata):
    """(the face of each cell or -1, the value of each face, its layer)."""
    labels, values, layers = np.full(stack.shape, -1), [], []
    for first in np.ndindex(stack.shape):
        if labels[first] >= 0 or (nodata is not None and stack[first] == nodata):
            continue
        waiting, labels[first] = [first], len(values)
        while waiting:
            layer, row, column = waiting.pop()
            for dx, dy in STEPS:
                cell = layer, row + dy, column + dx
                inside = 0 <= cell[1] < stack.shape[1] and 0 <= cell[2] < stack.shape[2]
                if inside and labels[cell] < 0 and stack[cell] == stack[first]:
                    labels[cell] = len(values)
                    waiting.append(cell)
        values.append(stack[first])
        layers.append(first[0])
    return labels, values, layers


def _at(labels, column, row):
    inside = 0 <= row < labels.shape[0] and 0 <= column < labels.shape[1]
    return int(labels[row, column]) if inside else -1


def _step_sides(labels, column, row, direction):
    """The faces at the left and at the right of a step of one cell."""
    (a, b), (c, d) = LEFT[direction], LEFT[(direction - 1) % 4]
    return _at(labels, column + a, row + b), _at(labels, column + c, row + d)


def _arcs(classes, labels):
    """(the arcs from node to node, the closed arcs) of a raster, as lists of corners."""
    rows, columns = classes.shape
    steps = {}  # corner -> directions of steps along the boundary with the smaller class at the left

    def key(face):
        return (1, 0) if face < 0 else (0, int(classes[labels == face][0]))

    keys = {face: key(face) for face in [-1, *range(labels.max() + 1)] if face < 0 or (labels == face).any()}
    degrees = {}
    for row in range(rows + 1):
        for column in range(columns + 1):
            for direction, (dx, dy) in enumerate(STEPS):
                if not (0 <= column + dx <= columns and 0 <= row + dy <= rows):
                    continue
                left, right = _step_sides(labels, column, row, direction)
                if left != right:
                    degrees[row, column] = degrees.get((row, column), 0) + 1
                    if keys[left] < keys[right]:
                        steps.setdefault((row, column), []).append(direction)
    passed = set()

    def follow(corner, direction):
        arc = [corner]
        while True:
            passed.add((corner, direction))
            corner = corner[0] + STEPS[direction][1], corner[1] + STEPS[direction][0]
            arc.append(corner)
            if degrees[corner] > 2 or corner == arc[0]:
                return [point[::-1] for point in _turns(arc)]
            (direction,) = steps[corner]

    nodes = sorted(corner for corner in steps if degrees[corner] > 2)
    opened = [follow(corner, direction) for corner in nodes for direction in steps[corner]]
    closed = []
    for corner in sorted(corner for corner in steps if degrees[corner] == 2):
        if (corner, steps[corner][0]) not in passed:
            closed.append(follow(corner, steps[corner][0]))
    return opened, closed


def _turns(arc):
    """The ends of an arc, and the corners between where it turns."""
    kept = [arc[0]]
    for before, corner, after in zip(arc, arc[1:], arc[2:]):
        if (after[0] - corner[0], after[1] - corner[1]) != (corner[0] - before[0], corner[1] - before[1]):
            kept.append(corner)
    return [*kept, arc[-1]]


def _direction(a, b):
    return STEPS.index((int(np.sign(b[0] - a[0])), int(np.sign(b[1] - a[1]))))


def _sides(labels, arc):
    return _step_sides(labels, *arc[0], _direction(arc[0], arc[1]))


def _rings(labels, arcs, sides):
    """(twice the area, signed arcs from the least one on) of each ring, by face."""
    halves, leaving = {}, {}
    for number, ((layer, arc), (left, right)) in enumerate(zip(arcs, sides)):
        for signed, points, face in ((number, arc, left), (~number, arc[::-1], right)):
            if face >= 0:
                halves[signed] = points, face, layer
                leaving.setdefault((face, layer, points[0]), []).append(signed)
    rings, passed = {}, set()
    for first in sorted(halves, key=_number):
        if first in passed:
            continue
        ring, signed, area = [], first, 0
        while signed not in passed:
            passed.add(signed)
            ring.append(signed)
            points, face, layer = halves[signed]
            area += sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:]))
            arriving = _direction(points[-2], points[-1])
            choices = leaving[face, layer, points[-1]]

            def turn(choice, arriving=arriving):  # right turns first: -1, 0, 1
                leaves = halves[choice][0]
                return (_direction(leaves[0], leaves[1]) - arriving + 1) % 4

            signed = min(choices, key=turn)
        assert signed == first
        rings.setdefault(face, []).append((area, ring))
    return rings


def _regions(stack, labels, faces, connectivity):
    owner = list(range(faces))
    if connectivity == 8:
        for layer, row, column in np.ndindex(stack.shape):
            for other in (column - 1, column + 1):
                if row and 0 <= other < stack.shape[2] and labels[layer, row, column] >= 0:
                    a, b = labels[layer, row, column], labels[layer, row - 1, other]
                    if b >= 0 and stack[layer, row, column] == stack[layer, row - 1, other]:
                        least, most = sorted((owner[a], owner[b]))
                        owner = [least if one == most else one for one in owner]
    return np.unique(owner, return_inverse=True)[1].astype(np.int32).reshape(-1)
