"""Alignments of pairs of sequences: arguments, parts that fit in memory, both strands.

The kernel is sequences/align_tiles and not an equation of `clgeom.dp`: three values a cell (Gotoh), ends that are found
while the table is filled, four bits of choices a cell and rows of registers are what makes many short pairs quick,
and the same kernel fills the tiles of long pairs. A framework's table would hold one value a cell and one table a call.

Source: O. Gotoh, An improved algorithm for matching biological sequences, J. Mol. Biol. 162 (1982) 705. T. F. Smith and
M. S. Waterman, Identification of common molecular subsequences, J. Mol. Biol. 147 (1981) 195. Pairs side by side in
vectors: T. Rognes, Faster Smith-Waterman database searches with inter-sequence SIMD parallelisation, BMC
Bioinformatics 12 (2011) 221.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from clgeom.arguments import boolean, integer, one_of, wrong
from clgeom.core.call import each, recording, watching
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, read
from clgeom.errors import InputWarning, InvalidInput, short, warn
from clgeom.intake.arrays import session_of
from clgeom.intake.chunks import as_chunks, in_chunk, pairs_ahead
from clgeom.intake.device_arrays import is_device_array
from clgeom.intake.dispatch import choose_faster
from clgeom.intake.several import as_sessions, by_first_able, spread
from clgeom.intake.typing import ChunksLike, DevicesLike
from clgeom.sequences.align_pairs import ShortPairs, are_short
from clgeom.sequences.align_tiles import (
    A_BEGIN,
    A_END,
    B_BEGIN,
    B_END,
    PART_CELLS,
    PART_CELLS_OF_GPUS,
    Job,
    Pairs,
    Rules,
)
from clgeom.sequences.bands import adapted
from clgeom.sequences.letters import as_sequences, refuse_letters
from clgeom.sequences.result import Alignment, AlignmentBatch
from clgeom.sequences.scoring import UNKNOWN, as_scoring

#: Cost of a pair besides its cells, in cells, for devices that share pairs.
PAIR_COST = 256
#: Cells from which on GPUs share pairs, as long as nothing was measured (H200: 2e8 cells with paths take 10 ms).
LEAST_SHARED = 1 << 30

MODES = ("global", "local", "semiglobal")
#: Steps through the second sequence of each strand.
STEPS = {"forward": (1,), "reverse": (-1,), "both": (1, -1)}
FREE_ENDS = {"a_begin": A_BEGIN, "b_begin": B_BEGIN, "a_end": A_END, "b_end": B_END}
#: Greatest sum of scores and penalties: half of the least int32 stands for minus infinity.
MOST_SUM = 1 << 29


@overload
def align(a: str | bytes, b: str | bytes, *, a_offsets: None = None, **options: Any) -> Alignment: ...
@overload
def align(a: ChunksLike, b: None = None, **options: Any) -> Iterator[AlignmentBatch]: ...
@overload
def align(a: Any, b: Any, **options: Any) -> Any: ...
@keeps_subnormals
def align(
    a: Any,
    b: Any = None,
    *,
    mode: Literal["global", "local", "semiglobal"] = "global",
    match: int | None = None,
    mismatch: int | None = None,
    matrix: Any = None,
    gap_open: int | None = None,
    gap_extend: int | None = None,
    free_ends: str | Iterable[str] | None = None,
    strand: Literal["forward", "reverse", "both"] = "forward",
    band: int | Literal["auto"] | None = None,
    path: bool = True,
    ends: bool = True,
    a_offsets: Any = None,
    b_offsets: Any = None,
    device: DevicesLike = None,
    profile: bool = False,
) -> Any:
    """Align sequences in pairs: the best score, where it ends, and the alignment itself.

    Parameters
    ----------
    a, b : str, bytes, array of bytes or letters, or a list or an array of str or bytes, or rows of bytes
        One sequence or several each. Several and one: each of the several with the one; several and several: first with
        first, and so on. An array of uint8 has ASCII codes, and is one sequence, as is an array of single letters; each
        row of two dimensions is a sequence. Arrays of uint8 and offsets may be arrays of pyopencl. An iterator or
        `clgeom.scale.Chunks` as `a`, without `b`, gives chunks: pairs (a, b) of batches. The case of letters
        is ignored. U is T among nucleotides: with "NUC.4.4", no matrix, or an own matrix of nucleotides that has one of
        both.
    mode : {"global", "local", "semiglobal"}
        "global": all of both sequences. "local": the parts of both that score best, maybe none. "semiglobal": as
        global, but what is left over at the ends in `free_ends` costs nothing.
    match, mismatch : int, optional
        Scores of equal and of different letters: 2 and -3, as for nucleotides; proteins need a `matrix`. N is then a
        letter as any other.
    matrix : str, SubstitutionMatrix, (str, array_like) or array with an alphabet, optional
        Instead of `match` and `mismatch`: "BLOSUM45", "BLOSUM50", "BLOSUM62", "BLOSUM80", "BLOSUM90", "PAM30", "PAM70",
        "PAM250", "NUC.4.4" (nucleotides with IUPAC's ambiguity codes), or an own one with its alphabet.
    gap_open, gap_extend : int, optional
        Penalties, 0 or more: a gap of k letters costs ``gap_open + k * gap_extend``; ``gap_open=0`` makes the cost
        linear. By default 5 and 2; for a matrix by name those of BLAST, such as 11 and 1 for BLOSUM62. A matrix of
        your own needs both.
    free_ends : {"a_begin", "a_end", "b_begin", "b_end"}, or iterable of them, optional
        For "semiglobal": the ends at which letters may be left over, by default all four.
        ``("b_begin", "b_end")`` finds all of `a` within `b`.
    strand : {"forward", "reverse", "both"}
        "reverse" aligns the reverse complement of `b`; "both" takes what scores better, forward of equal ones.
    band : int or "auto", optional
        Use only cells near the diagonal: after i letters of a and j of b, ``abs(i - j) <= band``. "auto": begin with a
        narrow band, and widen it until the score shows that all best alignments lie within. The result is then the
        same as without a band, sooner if the sequences are alike.
    path : bool
        Find the alignment too. Otherwise only scores and ends, in less time.
    ends : bool
        Without `path`: find where local alignments end. Otherwise only their scores, in less time; their ends are then
        -1 on every device. False is refused with `path`, and causes a warning for other modes, whose ends are known.
    a_offsets, b_offsets : array_like of int, shape (count + 1,), optional
        Sequence i of `a` is ``a[a_offsets[i]:a_offsets[i + 1]]``.
    device : str, pyopencl.Device or Session, or several, optional
        "all", or a list of devices, shares pairs on the host out among them.
    profile : bool
        Measure each launch with the device's clock.

    Returns
    -------
    Alignment or AlignmentBatch
        An `Alignment` of two single sequences, otherwise an `AlignmentBatch`. For chunks an iterator of one
        `AlignmentBatch` for each chunk, which is computed when it is asked for, so that neither sequences nor results
        need fit in memory together; close it to end early. Of ends with the best score it has the
        one that is least in a, then in b. From that end the path goes back from cell to cell: by a pair of letters
        if that gives the score, else by a letter of a against a gap, else by a letter of b. A gap ends as soon as that
        gives the score. The path of a local alignment ends at the first cell with score 0.

    Raises
    ------
    InvalidInput
        A letter is outside the alphabet, a sequence is empty, a penalty is negative, a matrix is not square, the band
        reaches no end, or the numbers of sequences differ.
    DeviceLimit
        An alignment does not fit in the device's memory.

    Warns
    -----
    InputWarning
        ``ends=False`` has no effect.

    See Also
    --------
    clgeom.dp.problems.edit_distance : Unit costs, and faster.
    clgeom.dp.cdist : All pairs of two batches.

    Notes
    -----
    Scores are exact: they are computed in 16 bits where all sums fit, and again in 32 bits where a local score did not.

    Examples
    --------
    >>> import clgeom
    >>> found = clgeom.align("ACGTTCA", "ACTTCAG")
    >>> found.score, found.cigar
    (-2, '2=1D4=1I')
    >>> print(clgeom.align("HEAGAWGHEE", "PAWHEAE", matrix="BLOSUM62", mode="local"))
    HEA
    |||
    HEA
    >>> clgeom.align(["ACGT", "AACC"], "ACGA", path=False).scores.tolist()
    [3, -7]
    """
    one_of(mode, MODES, "mode", caller="align")
    one_of(strand, tuple(STEPS), "strand", caller="align")
    path = boolean(path, "path", caller="align")
    ends = _ends(boolean(ends, "ends", caller="align"), path, mode)
    scoring = as_scoring(match, mismatch, matrix, gap_open, gap_extend)
    if strand != "forward" and not scoring.has_complements:
        raise wrong("strand", "align", "'forward' with a matrix of other letters than nucleotides", short(strand))
    if band is not None and not (isinstance(band, str) and band == "auto"):
        band = integer(band, "band", caller="align", least=0, most=1 << 29)
    is_adaptive = isinstance(band, str)
    if isinstance(free_ends, Iterator):  # read here, and again for each chunk
        free_ends = tuple(free_ends)
        if not free_ends:
            raise wrong("free_ends", "align", "several ends, or an empty list for none", "an iterator that has none")
    rules = Rules(scoring, mode == "local", _free(free_ends, mode), None if is_adaptive else band)
    chunks = as_chunks(a)
    if chunks is not None:
        for name, value in (("b", b), ("a_offsets", a_offsets), ("b_offsets", b_offsets)):
            if value is not None:
                raise wrong(name, "align", "left out for chunks, which are pairs of batches", short(value))
        options = {"mode": mode, "match": match, "mismatch": mismatch, "matrix": matrix, "gap_open": gap_open}
        options |= {"gap_extend": gap_extend, "strand": strand, "band": band, "path": path, "ends": ends}
        options |= {"free_ends": free_ends, "device": device, "profile": profile}
        return _aligned_chunks(chunks, options)
    first, second = as_sequences(a, a_offsets, "a"), as_sequences(b, b_offsets, "b")
    count = len(second) if first.single else len(first)
    if not first.single and not second.single and len(first) != len(second):
        raise InvalidInput(
            f"The 'a' and 'b' parameters of align must have the same number of sequences, or one of them a single "
            f"sequence. Got {len(first):,} and {len(second):,} instead."
        )
    lengths = [np.broadcast_to(one.lengths, count) if one.single else one.lengths for one in (first, second)]
    _check_sizes(rules, mode, *lengths, single=first.single and second.single)
    if is_device_array(second.letters):
        session = session_of(first.letters, device)
        on_own = device is None and is_device_array(first.letters)
        sessions = (session_of(second.letters, session if on_own else device),)
    else:
        sessions = as_sessions(first.letters, device, caller="align")

    def solve(sequences, lengths, band, path):
        """The fields of the results, with these sequences within a band."""
        calls = {
            one: _Call(one, replace(rules, band=band), mode, strand, path, ends, sequences, lengths) for one in sessions
        }
        costs = np.zeros(1)
        if len(sessions) > 1:
            costs = np.append(0, np.cumsum(PAIR_COST + np.asarray(lengths[0], np.float64) * lengths[1]))
        some, kind = sessions if len(costs) > 2 else sessions[:1], f"align {mode} {path}"

        def whole(one):
            return [calls[one].part(part) for part in each(one, calls[one].parts())]

        def work(one, start, stop):
            return [calls[one].part(part) for part in calls[one].parts(start, stop)]

        def together():
            pieces = spread(sessions, len(lengths[0]), work, kind=kind, costs=costs, tell=watching())
            return list(itertools.chain.from_iterable(pieces))

        alone = functools.partial(by_first_able, sessions, whole)
        parts = choose_faster(some, kind, float(costs[-1]), LEAST_SHARED, alone=alone, together=together)
        if len(parts) < 2:
            return parts[0] if parts else _nothing()
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    with recording(profile) as phases:
        if is_adaptive and count:
            fields = adapted(solve, rules, (first, second), lengths, path)
        else:
            fields = solve((first, second), lengths, rules.band, path)
    counts = fields.pop("counts")
    offsets = np.append(0, np.cumsum(counts)) if path else None
    if not path:
        fields["operations"] = None
    batch = AlignmentBatch(
        **fields, offsets=offsets, a=first, b=second, scoring=scoring, mode=mode, phases=tuple(phases)
    )
    return batch[0] if first.single and second.single else batch


def _aligned_chunks(chunks, options) -> Iterator[AlignmentBatch]:
    """Yield the alignments of each chunk."""
    with contextlib.closing(pairs_ahead(chunks, caller="align")) as pairs:
        for number, (first, second) in enumerate(pairs):
            try:
                found = align(first, second, **options)
            except InvalidInput as error:
                raise in_chunk(error, number) from error
            if isinstance(found, Alignment):
                raise InvalidInput(
                    f"The chunks of align must be pairs of batches, one of them many sequences. Got {short(first)} and "
                    f"{short(second)} as chunk {number}."
                )
            yield found


def _nothing():
    """The fields of no pairs."""
    whole = ("scores", "a_starts", "a_ends", "b_starts", "b_ends", "counts")
    fields = {name: np.empty(0, np.int64) for name in whole}
    return fields | {"strands": np.empty(0, np.int8), "operations": np.empty(0, np.uint8)}


def _ends(ends, path, mode) -> bool:
    """Whether ends are found."""
    if not ends and path:
        raise wrong("ends", "align", "left out unless path=False, since a path tells its ends", "ends=False")
    if not ends and mode != "local":
        warn(f"The 'ends' parameter of align has no effect with mode={mode!r}: its ends are known.", InputWarning)
    return ends or mode != "local"


def _free(free_ends, mode) -> int:
    """The bits of ends that are free."""
    if mode != "semiglobal":
        if free_ends is not None:
            raise wrong("free_ends", "align", "left out unless mode is 'semiglobal'", short(free_ends))
        return 0
    if free_ends is None:
        return sum(FREE_ENDS.values())
    if not isinstance(free_ends, str) and not np.iterable(free_ends):
        raise wrong("free_ends", "align", f"several of {', '.join(map(repr, FREE_ENDS))}", short(free_ends))
    bits = 0
    for end in (free_ends,) if isinstance(free_ends, str) else free_ends:
        bits |= FREE_ENDS[one_of(end, tuple(FREE_ENDS), "free_ends", caller="align")]
    return bits


def _check_sizes(rules, mode, n, m, *, single):
    """Refuse scores beyond int32, and bands that no alignment can end in."""
    scoring = rules.scoring
    largest = max(scoring.greatest, -scoring.least, 1) + scoring.gap_extend
    longest = int(n.max()) + int(m.max()) if len(n) else 0
    most = longest * largest + 4 * (scoring.gap_open + scoring.gap_extend)
    if most > MOST_SUM and ((n + m) * largest).max() + most - longest * largest > MOST_SUM:
        raise InvalidInput(
            f"The scores of align must stay within {MOST_SUM:,}. With these scores and penalties, sequences may have "
            f"{MOST_SUM // largest:,} letters together; got {int((n + m).max()):,}."
        )
    if rules.band is None or rules.local:
        return
    reached = rules.reaches(n, m, rules.band)
    if not reached.all():
        index = int(np.argmin(reached))
        where = "" if single else f" of pair {index}"
        raise InvalidInput(
            f"The 'band' parameter of align must reach the end of the table: at least "
            f"{abs(int(n[index] - m[index])):,} for sequences{where} with {n[index]:,} and {m[index]:,} letters. "
            f"Got {rules.band:,} instead."
        )


class _Call:
    """A call of `align`: its checked arguments, and its parts, each small enough for one allocation and one second."""

    def __init__(self, session, rules, mode, strand, path, ends, sequences, lengths):
        self.session, self.rules, self.mode, self.strand = session, rules, mode, strand
        self.path, self.ends, self.sequences, (self.n, self.m) = path, ends, sequences, lengths

    def parts(self, first=0, stop=None):
        """Slices of the pairs, or of those from `first` on."""
        count, profile = len(self.n) if stop is None else stop, self.session.profile
        most, cells = min(profile.max_alloc_bytes, 1 << 30), PART_CELLS if profile.is_cpu else PART_CELLS_OF_GPUS
        if first >= count:
            return []
        n, m = int(self.n[first:count].max()), int(self.m[first:count].max())
        if (count - first) * n * m <= cells and (count - first) * (n + m + 64) <= most:
            return [slice(first, count)]
        sums = [np.cumsum(self.n + self.m), np.cumsum(self.n * self.m), np.arange(1, len(self.n) + 1) * 64]
        sums = np.stack(sums)
        limits, begin, parts = np.array([most, cells, most]), first, []
        while begin < count:
            before = sums[:, begin - 1] if begin else np.zeros(3, np.int64)
            ends = [
                int(np.searchsorted(row, start + limit, "right")) for row, start, limit in zip(sums, before, limits)
            ]
            end = min(max(min(ends), begin + 1), count)
            parts.append(slice(begin, end))
            begin = end
        return parts

    def part(self, part) -> dict:
        """The results of a range of pairs, by the names of the fields of `AlignmentBatch`."""
        (a_letters, a_offsets), (b_letters, b_offsets) = (self._letters(k, part) for k in (0, 1))
        n, m = self.n[part], self.m[part]
        job = Job(self.session, a_letters, b_letters, self.rules)
        side = job.tile_side(n, m, self.path)
        if not self.path and not side and are_short(self.session, self.rules, max(int(n.max()), int(m.max()))):
            return self._short(job, part, (a_offsets, b_offsets))
        a_begin, b_begin = (
            np.broadcast_to(one[0], len(n)) if len(one) == 2 else one[:-1] for one in (a_offsets, b_offsets)
        )
        strands = STEPS[self.strand]
        pairs = [Pairs(a_begin, n, b_begin if k > 0 else b_begin + m - 1, np.full(len(n), k), m) for k in strands]
        ends = walks = None
        if len(strands) == 2 or not self.path or (self.mode != "global" and not side):
            found = [job.in_tiles(one, side)[0] if side else job.ends(one) for one in pairs]
            ends, best = found[0], pairs[0]
            for one, other in zip(found[1:], pairs[1:]):
                better = one[:, 0] > ends[:, 0]
                ends = np.where(better[:, None], one, ends)
                best = Pairs(*(np.where(better, x, y) for x, y in zip(vars(other).values(), vars(best).values())))
            pairs = [best]
        pairs = pairs[0]
        operations = np.empty(0, np.uint8)
        if self.path:
            regions = np.cumsum(n + m)
            buffer = allocate(self.session, int(regions[-1]))
            if side:
                ends, walks = job.in_tiles(pairs, side, (regions, buffer))
            else:
                if ends is None:
                    ends = np.stack([np.zeros_like(n), n, m], axis=1)
                    ends[:, 0], walks = job.paths(pairs, ends, regions, buffer)
                else:
                    walks = job.paths(pairs, ends, regions, buffer)[1]
            operations = _compacted(read(self.session, buffer, np.uint8, int(regions[-1])), n + m, walks[:, 3])
        if job.met_unknown_letters():
            self._refuse(part)
        return self._fields(ends.T, walks, pairs.b_step.astype(np.int8), m) | {"operations": operations}

    def _letters(self, k, part):
        """The letters of a range of pairs, and where each sequence begins among them, and ends."""
        sequences = self.sequences[k]
        offsets = sequences.offsets if sequences.single else sequences.offsets[part.start : part.stop + 1]
        low, high = int(offsets[0]), int(offsets[-1])
        letters = sequences.letters
        if (low, high) != (0, len(letters)):
            letters = letters[low:high]
        return letters, offsets - low if low else offsets

    def _short(self, job, part, offsets) -> dict:
        """The results of a range of short pairs, of which nothing but scores and ends is asked."""
        n, m = self.n[part], self.m[part]
        pairs = ShortPairs(self.session, self.rules, job.letters, [one.astype(np.uint32) for one in offsets], len(n))
        unknown, found = np.full(len(n), -1), []
        for step in STEPS[self.strand]:
            values = pairs.found(reverse=step < 0, ends=self.ends)
            if self.ends:
                found.append(job.with_borders(Pairs(None, n, None, None, m), values).astype(np.int64).T)
            else:
                found.append((values.astype(np.int64), unknown, unknown))
        if pairs.met_unknown_letters():
            self._refuse(part)
        ends, strands = found[0], np.full(len(n), STEPS[self.strand][0], np.int8)
        if len(found) == 2:
            better = found[1][0] > ends[0]
            ends, strands[better] = [np.where(better, other, one) for one, other in zip(*found)], -1
        return self._fields(ends, None, strands, m)

    def _fields(self, ends, walks, strands, m):
        """Results as arrays; starts and ends that are not known are -1."""
        scores, a_ends, columns = ends if self.ends else (ends[0], *np.full((2, len(m)), -1))
        unknown = np.full(len(m), 0 if self.mode == "global" else -1)
        a_starts, begins = (unknown, unknown) if walks is None else (walks[:, 0], walks[:, 1])
        b_starts, b_ends = begins, columns
        if self.strand != "forward":
            reverse = strands < 0
            b_starts, b_ends = (
                np.where(reverse, np.where(turned < 0, turned, m - turned), one)
                for one, turned in ((begins, columns), (columns, begins))
            )
        return {
            "scores": scores,
            "a_starts": a_starts,
            "a_ends": a_ends,
            "b_starts": b_starts,
            "b_ends": b_ends,
            "strands": strands,
            "counts": np.zeros(len(m), np.int64) if walks is None else walks[:, 3],
            "operations": np.empty(0, np.uint8),
        }

    def _refuse(self, part):
        """Raise the error that names the first letter outside the alphabet."""
        scoring = self.rules.scoring
        first, second, complement = scoring.codes()
        alphabet = scoring.alphabet
        refuse_letters(self.sequences[0], first, UNKNOWN, alphabet, "a")
        refuse_letters(self.sequences[1], second, UNKNOWN, alphabet, "b")
        if self.strand != "forward":
            refuse_letters(self.sequences[1], complement, UNKNOWN, alphabet, "b", reverse=True)
        raise AssertionError("the device met a letter outside the alphabet that the host does not find")


def _compacted(operations, room, counts):
    """The operations of all pairs, which are at the end of each pair's room."""
    is_operation = np.repeat(np.tile([False, True], len(room)), np.stack([room - counts, counts], axis=1).ravel())
    return operations[is_operation]
