"""Shellsort as the study's variants do it, one step after the other in plain Python, with everything counted."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Counted:
    """A phase: what `ShellPhase` must say of it."""

    gap: int
    groups: int
    items: int
    passes: float
    reads: int
    writes: int


def shellsort(keys, variant, gaps, *, most_items=512, least_elements=1, capacity=10**9):
    """The keys after all phases, and a Counted for each phase. `capacity`: local memory of E and F, in keys."""
    array, phases = list(keys), []
    for gap in gaps:
        columns = [list(range(start, len(array), gap)) for start in range(gap)]
        phases.append(PHASES[variant](array, gap, columns, most_items, least_elements, capacity))
    return array, phases


def bounds(rows, parts):
    """Where each of the parts of so many rows begins, and the end."""
    return [rows * part // parts for part in range(parts + 1)]


class Memory:
    """A column of an array, its accesses counted."""

    def __init__(self, array, column):
        self.array, self.column, self.reads, self.writes = array, column, 0, 0

    def read(self, row):
        self.reads += 1
        return self.array[self.column[row]]

    def write(self, row, key):
        self.writes += 1
        self.array[self.column[row]] = key


def upwards(memory, begin, end):
    for row in range(begin + 1, end):
        mine, hole = memory.read(row), row
        while hole > begin:
            above = memory.read(hole - 1)
            if above <= mine:
                break
            memory.write(hole, above)
            hole -= 1
        if hole != row:
            memory.write(hole, mine)


def downwards(memory, begin, end):
    for row in range(end - 2, begin - 1, -1):
        mine, hole = memory.read(row), row
        while hole < end - 1:
            below = memory.read(hole + 1)
            if below >= mine:
                break
            memory.write(hole, below)
            hole += 1
        if hole != row:
            memory.write(hole, mine)


def carrying(memory, begin, end):
    """One read for an element in order; one out of order is first overwritten with the largest, known already."""
    if end - begin < 2:
        return
    largest = memory.read(begin)
    for row in range(begin + 1, end):
        mine = memory.read(row)
        if mine >= largest:
            largest = mine
            continue
        memory.write(row, largest)
        hole = row - 1
        while hole > begin:
            above = memory.read(hole - 1)
            if above <= mine:
                break
            memory.write(hole, above)
            hole -= 1
        memory.write(hole, mine)


def whole_columns(groups_are_columns):
    def phase(array, gap, columns, *_):
        reads = writes = 0
        for column in columns:
            memory = Memory(array, column)
            upwards(memory, 0, len(column))
            reads, writes = reads + memory.reads, writes + memory.writes
        return Counted(gap, gap if groups_are_columns else 1, 1, 1.0, reads, writes)

    return phase


def items_for(columns, most_items, least_elements):
    return max(1, min(most_items, len(columns[0]) // least_elements))


def chunks_alone(insertion):
    def phase(array, gap, columns, most_items, least_elements, _):
        items = items_for(columns, most_items, least_elements)
        reads = writes = 0
        for column in columns:
            memory, starts = Memory(array, column), bounds(len(column), min(items, len(column)))
            for begin, end in zip(starts, starts[1:]):
                insertion(memory, begin, end)
            reads, writes = reads + memory.reads, writes + memory.writes
        return Counted(gap, gap, items, 1.0, reads, writes)

    return phase


def neighbours(parts):
    """Pairs of neighbouring parts, in the two steps in which they exchange."""
    return [*range(0, parts - 1, 2), *range(1, parts - 1, 2)]


def chunks_exchanging(exchanges=1, resting=False):
    def phase(array, gap, columns, most_items, least_elements, _):
        items = items_for(columns, most_items, least_elements)
        reads = writes = passes = 0
        for column in columns:
            memory, starts = Memory(array, column), bounds(len(column), min(items, len(column)))
            awake = set(range(len(starts) - 1))
            while awake:
                due, awake = awake if resting else set(range(len(starts) - 1)), set()
                passes += 1
                for chunk in due:
                    carrying(memory, starts[chunk], starts[chunk + 1])
                for left in neighbours(len(starts) - 1):
                    if not {left, left + 1} & (due | awake):
                        continue
                    begin, middle, end = starts[left : left + 3]
                    for k in range(min(exchanges, middle - begin, end - middle)):
                        below, above = memory.read(middle - 1 - k), memory.read(middle + k)
                        if below <= above:
                            break
                        memory.write(middle - 1 - k, above)
                        memory.write(middle + k, below)
                        awake |= {left, left + 1}
            reads, writes = reads + memory.reads, writes + memory.writes
        return Counted(gap, gap, items, passes / gap, reads, writes)

    return phase


def local_parts(array, columns, parts, settle):
    """Parts of columns sorted in local memory, their ends exchanged through global memory, until nothing changes.

    `settle(values)` sorts a part and returns its passes. Rounds go on for all columns while any changes.
    """
    reads = writes = passes = rounds = 0
    changed = True
    while changed:
        changed = False
        rounds += 1
        for column in columns:
            starts = bounds(len(column), min(parts, len(column)))
            for begin, end in zip(starts, starts[1:]):
                values = [array[i] for i in column[begin:end]]
                passes += settle(values)
                for i, value in zip(column[begin:end], values):
                    array[i] = value
                ends = min(2, end - begin) if parts > 1 else 0
                reads += end - begin
                writes += end - begin + ends
            for left in neighbours(len(starts) - 1):
                a, b = column[starts[left + 1] - 1], column[starts[left + 1]]
                reads += 2
                if array[a] > array[b]:
                    array[a], array[b] = array[b], array[a]
                    writes += 2
                    changed = True
    return reads, writes, passes, rounds


def private_chunks(array, gap, columns, most_items, least_elements, capacity):
    items = items_for(columns, most_items, least_elements)

    def settle(values):
        values.sort()
        return 1

    reads, writes, _, rounds = local_parts(array, columns, items, settle)
    return Counted(gap, gap * items, 1, float(rounds), reads, writes)


def resident_segments(array, gap, columns, most_items, least_elements, capacity):
    segments = -(-len(columns[0]) // capacity)
    items = -(-items_for(columns, most_items, least_elements) // segments)

    def settle(values):
        starts, passes, changed = bounds(len(values), min(items, len(values))), 0, True
        while changed:
            changed = False
            passes += 1
            for begin, end in zip(starts, starts[1:]):
                values[begin:end] = sorted(values[begin:end])
            for left in neighbours(len(starts) - 1):
                a, b = starts[left + 1] - 1, starts[left + 1]
                if values[a] > values[b]:
                    values[a], values[b] = values[b], values[a]
                    changed = True
        return passes

    reads, writes, passes, _ = local_parts(array, columns, segments, settle)
    return Counted(gap, gap * segments, items, passes / (gap * segments), reads, writes)


PHASES = {
    "0": whole_columns(False),
    "A": whole_columns(True),
    "B": chunks_alone(upwards),
    "C": chunks_alone(downwards),
    "D": chunks_exchanging(),
    **{("D", count, rest): chunks_exchanging(count, rest) for count in (1, 2, 3) for rest in (False, True)},
    "E": private_chunks,
    "F": resident_segments,
}


# Hard cases -------------------------------------------------------------------------------------------------------


def levels(n, gaps, count, rng):
    """Integers that are in order at all of the gaps, and as much out of order at other distances as can be.

    A 0-1 array whose ones are some position plus all sums of the gaps is in order at each gap and at no distance that
    is not a sum; the levels are the sum of `count` such arrays.
    """
    total = np.zeros(n, np.int64)
    for start in rng.integers(0, n, count).tolist():
        ones = np.zeros(n, bool)
        ones[start] = True
        for gap in gaps:
            padded = np.zeros(-(-n // gap) * gap, bool)
            padded[:n] = ones
            ones = np.logical_or.accumulate(padded.reshape(-1, gap), axis=0).ravel()[:n]
        total += ones
    return total
