"""Alignments of pairs of sequences: arguments, devices, parts that fit in memory, both strands.

    a, b ─> letters, offsets ─> devices ─> parts ─> scores and ends, of the better strand ─> paths ─> AlignmentBatch

Pairs that are alike are aligned by fronts (`clgeom.sequences.align_fronts`), all others by tables. Their kernel is
sequences/align_tiles and not an equation of `clgeom.dp`: three values a cell (Gotoh), ends that are found
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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from clgeom.arguments import absent
from clgeom.core.call import Call, each, watching
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, read
from clgeom.errors import InvalidInput, short
from clgeom.intake.chunks import as_chunks, in_chunk, pairs_ahead
from clgeom.intake.dispatch import Work, dispatch
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.letters import choose_sessions_of
from clgeom.intake.typing import ChunksLike, DevicesLike
from clgeom.sequences.align_fronts import LEAST_CELLS, PairFronts, costs_of
from clgeom.sequences.align_jobs import PairSpans
from clgeom.sequences.align_pairs import ShortPairs, are_short
from clgeom.sequences.align_sweep import sweep_policy
from clgeom.sequences.align_tiles import PART_CELLS, PART_CELLS_OF_GPUS, PairTiles
from clgeom.sequences.bands import align_in_growing_bands
from clgeom.sequences.fields import Fields, align_empty_apart, compact_operations, fields_of
from clgeom.sequences.letters import as_sequences, refuse_letters
from clgeom.sequences.pairs import SequencePairs
from clgeom.sequences.result import Alignment, AlignmentBatch
from clgeom.sequences.scoring import STEPS, Rules, as_scoring, checked_rules

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.intake.chunks import Chunks

#: Cost of a pair besides its cells, in cells, for devices that share pairs.
PAIR_COST = 256
#: Letters from which on ``band="auto"`` has no band where tables are swept (H100: bands of a long pair go at 3 GCUPS,
#: and sweeps at 45 to 300).
LEAST_UNBANDED = 512
#: Cells from which on GPUs share pairs, as long as nothing was measured (H200: 2e8 cells with paths take 10 ms).
LEAST_SHARED = 1 << 30

#: Greatest sum of scores and penalties: half of the least int32 stands for minus infinity.
MOST_SUM = 1 << 29


@overload
def align(a: str | bytes, b: str | bytes, *, a_offsets: None = None, **options: Any) -> Alignment: ...
@overload
def align(a: ChunksLike, b: None = None, **options: Any) -> Iterator[AlignmentBatch]: ...
@overload
def align(a: Any, b: Any, **options: Any) -> Any: ...
@keeps_subnormals  # type: ignore[misc]  # the options of the overloads are those of the implementation
@takes_cuda
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
        both. An empty sequence aligns with a gap.
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
        A letter is outside the alphabet, a penalty is negative, a matrix is not square, the band
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
    Without a matrix, global and semiglobal alignments of similar sequences take wavefronts: the same ones, sooner.

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
    scoring = as_scoring(match, mismatch, matrix, gap_open, gap_extend)
    is_adaptive = isinstance(band, str) and band == "auto"
    rules = checked_rules(scoring, mode, free_ends, strand, None if is_adaptive else band, path, ends)
    chunks = None if type(a) in (str, bytes, list, np.ndarray) else as_chunks(a)
    if chunks is None:
        return _aligned(a, b, a_offsets, b_offsets, rules, is_adaptive, device, profile)
    for name, value in (("b", b), ("a_offsets", a_offsets), ("b_offsets", b_offsets)):
        absent(value, name, "for chunks, which are pairs of batches", caller="align")
    return _aligned_chunks(chunks, rules, is_adaptive, device, profile)


def _aligned(
    a: Any, b: Any, a_offsets: Any, b_offsets: Any, rules: Rules, is_adaptive: bool, device: DevicesLike, profile: bool
) -> Alignment | AlignmentBatch:
    """Return the alignments of one batch, or of two single sequences."""
    call = Call(caller="align", profile=profile, options=rules)
    pairs = SequencePairs(as_sequences(a, a_offsets, "a", device), as_sequences(b, b_offsets, "b", device))
    _check_sizes(rules, pairs)
    choose_sessions_of(call, (pairs.a, pairs.b), device)

    def solve(some: SequencePairs, band: int | None, path: bool, tables: bool = True) -> Fields:
        fields: Fields = dispatch(call, AlignWork(replace(rules, band=band, path=path, tables=tables), some, pairs))
        return fields

    def aligned(some: SequencePairs) -> Fields:
        longest = min(some.a.longest, some.b.longest) if len(some) else 0
        is_swept = longest > LEAST_UNBANDED and None not in map(sweep_policy, call.sessions)  # quicker than bands
        if is_adaptive and len(some) and not is_swept:
            return align_in_growing_bands(solve, rules, some)
        return solve(some, rules.band, rules.path)

    with call:
        has_empty = not (pairs.a.shortest and pairs.b.shortest) and len(pairs)
        fields = align_empty_apart(aligned, rules, pairs) if has_empty else aligned(pairs)
    counts = fields.pop("counts")
    if not rules.path:
        fields["operations"] = None
    batch = AlignmentBatch(
        **fields,
        offsets=np.append(0, np.cumsum(counts)) if rules.path else None,
        a=pairs.a,
        b=pairs.b,
        scoring=rules.scoring,
        mode=rules.mode,
        phases=tuple(call.phases),
    )
    return batch[0] if pairs.is_single else batch


def _aligned_chunks(
    chunks: Chunks[Any], rules: Rules, is_adaptive: bool, device: DevicesLike, profile: bool
) -> Iterator[AlignmentBatch]:
    """Yield the alignments of each chunk."""
    with contextlib.closing(pairs_ahead(chunks, caller="align")) as batches:
        for number, (first, second) in enumerate(batches):
            try:
                found = _aligned(first, second, None, None, rules, is_adaptive, device, profile)
            except InvalidInput as error:
                raise in_chunk(error, number) from error
            if isinstance(found, Alignment):
                raise InvalidInput(
                    f"The chunks of align must be pairs of batches, one of them many sequences. Got {short(first)} and "
                    f"{short(second)} as chunk {number}."
                )
            yield found


# Options --------------------------------------------------------------------------------------------------------------


def _check_sizes(rules: Rules, pairs: SequencePairs) -> None:
    """Refuse scores beyond int32, and bands that no alignment can end in."""
    scoring = rules.scoring
    largest = max(scoring.greatest, -scoring.least, 1) + scoring.gap_extend
    longest = pairs.a.longest + pairs.b.longest if len(pairs) else 0
    most = longest * largest + 4 * (scoring.gap_open + scoring.gap_extend)
    if most > MOST_SUM and ((pairs.n + pairs.m) * largest).max() + most - longest * largest > MOST_SUM:
        raise InvalidInput(
            f"The scores of align must stay within {MOST_SUM:,}. With these scores and penalties, sequences may "
            f"have {MOST_SUM // largest:,} letters together; got {int((pairs.n + pairs.m).max()):,}."
        )
    if rules.band is None or rules.local:
        return
    n, m = pairs.n, pairs.m
    reached = rules.reaches(n, m, rules.band)
    if not reached.all():
        index = int(np.argmin(reached))
        where = "" if pairs.is_single else f" of pair {index}"
        raise InvalidInput(
            f"The 'band' parameter of align must reach the end of the table: at least "
            f"{abs(int(n[index] - m[index])):,} for sequences{where} with {n[index]:,} and {m[index]:,} letters. "
            f"Got {rules.band:,} instead."
        )


# Work -----------------------------------------------------------------------------------------------------------------


class AlignWork(Work):
    """The alignment of pairs, in parts that are each small enough for one allocation and one second; `whole`: all pairs
    of the call, for messages.
    """

    kind: str
    n: int
    progress: Any
    least_cost = LEAST_SHARED

    def __init__(self, rules: Rules, pairs: SequencePairs, whole: SequencePairs) -> None:
        self.rules, self.pairs, self.whole, self.n = rules, pairs, whole, len(pairs)
        self.kind, self.progress = f"align {rules.mode} {rules.path}", watching()

    @functools.cached_property
    def costs(self) -> np.ndarray:
        return np.append(0, np.cumsum(PAIR_COST + np.asarray(self.pairs.n, np.float64) * self.pairs.m))

    @property
    def cost(self) -> float:
        return float(self.costs[-1])

    def at_once(self, session: Session) -> Fields:
        return self.join(
            session, [[self.part(session, part) for part in each(session, self.slices(session, 0, self.n))]]
        )

    def piece(self, session: Session, start: int, stop: int) -> list[Fields]:
        return [self.part(session, part) for part in self.slices(session, start, stop)]

    def join(self, session: Session, results: Any) -> Fields:
        """Join the fields of `AlignmentBatch` of all parts."""
        parts = list(itertools.chain.from_iterable(results))
        if not parts:
            return fields_of(self.rules, np.empty((3, 0), np.int64), None, np.empty(0, np.int8), self.pairs)
        return (
            parts[0] if len(parts) == 1 else {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        )

    def slices(self, session: Session, first: int, stop: int) -> list[slice]:
        """Slices of the pairs first .. stop - 1."""
        profile, pairs = session.profile, self.pairs
        most, cells = min(profile.max_alloc_bytes, 1 << 30), PART_CELLS if profile.is_cpu else PART_CELLS_OF_GPUS
        if first >= stop:
            return []
        rows, columns = pairs.a.longest, pairs.b.longest
        if stop - first < len(pairs):
            rows, columns = int(pairs.n[first:stop].max()), int(pairs.m[first:stop].max())
        if (stop - first) * rows * columns <= cells and (stop - first) * (rows + columns + 64) <= most:
            return [slice(first, stop)]
        n, m = pairs.n, pairs.m
        sums = np.stack([np.cumsum(n + m), np.cumsum(n * m), np.arange(1, len(n) + 1) * 64])
        limits, begin, parts = np.array([most, cells, most]), first, []
        while begin < stop:
            before = sums[:, begin - 1] if begin else np.zeros(3, np.int64)
            end = min(int(np.searchsorted(*one, "right")) for one in zip(sums, before + limits))
            end = min(max(end, begin + 1), stop)
            parts.append(slice(begin, end))
            begin = end
        return parts

    def part(self, session: Session, part: slice) -> Fields:
        """Return the results of a range of pairs, by the names of the fields of `AlignmentBatch`."""
        pairs, rules = self.pairs.part(part.start, part.stop), self.rules
        tiles = PairTiles(session, pairs.a.letters, pairs.b.letters, rules)
        longest = max(pairs.a.longest, pairs.b.longest)
        if (
            not rules.path
            and are_short(session, rules, longest)
            and not tiles.tile_side(*pairs.sizes(), False, len(pairs))
        ):
            fields = self._short_part(tiles, pairs)
            return fields if rules.tables else fields | {"known": np.ones(len(pairs), bool)}
        n, m, strands = pairs.n, pairs.m, [pairs.spans(step) for step in STEPS[rules.strand]]
        regions, spans, known = np.cumsum(n + m), strands[0], np.zeros(len(pairs), bool)
        buffer: Any = allocate(session, int(regions[-1])) if rules.path else None
        is_large = not rules.tables or int(n @ m) >= LEAST_CELLS
        if is_large and (costs := costs_of(rules)):
            known, ends, walks = PairFronts(tiles, costs).found(spans, regions, buffer)
        if rules.tables and not known.any():
            spans, ends, walks = self._by_tables(tiles, strands, regions, buffer)
        elif rules.tables and not known.all():
            left = np.flatnonzero(~known)
            _, ends[left], walks_left = self._by_tables(tiles, [spans[left]], regions[left], buffer)
            if walks is not None:
                walks[left] = walks_left
        operations = np.empty(0, np.uint8)
        if walks is not None:
            operations = compact_operations(read(session, buffer, np.uint8, int(regions[-1])), n + m, walks[:, 3])
        self._refuse_unknown(tiles)
        fields = fields_of(rules, ends.T, walks, spans.b_step.astype(np.int8), pairs) | {"operations": operations}
        return fields if rules.tables else fields | {"known": known}

    def _by_tables(
        self, tiles: PairTiles, strands: list[PairSpans], regions: np.ndarray, buffer: Any
    ) -> tuple[PairSpans, np.ndarray, np.ndarray | None]:
        """Return (pairs, ends, walks) of the better strand; operations are written to the buffer."""
        rules, n, m = self.rules, strands[0].n, strands[0].m
        side, found = tiles.tile_side(n, m, rules.path), list[np.ndarray]()
        if len(strands) == 2 or not rules.path or (rules.mode != "global" and not side):
            found = [tiles.in_tiles(one, side)[0] if side else tiles.ends(one) for one in strands]
        spans, ends = _choose_strand(strands, found)
        if not rules.path:
            return spans, ends, None
        if side:
            return spans, *tiles.in_tiles(spans, side, (regions, buffer))
        known = np.stack([np.zeros_like(n), n, m], axis=1) if ends is None else ends
        scores, walks = tiles.paths(spans, known, regions, buffer)
        return spans, np.stack([scores, n, m], axis=1) if ends is None else ends, walks

    def _short_part(self, tiles: PairTiles, pairs: SequencePairs) -> Fields:
        """Return the results of short pairs without paths."""
        rules, steps, short = self.rules, STEPS[self.rules.strand], ShortPairs(tiles, pairs.a, pairs.b, len(pairs))
        found = [short.found(reverse=step < 0, ends=rules.ends) for step in steps]
        if rules.ends:
            found = [tiles.with_borders(pairs, ends) for ends in found]
        ends, strands = found[0], np.full(len(pairs), steps[0], np.int8)
        for other, step in zip(found[1:], steps[1:]):
            better = other[:, 0] > ends[:, 0]
            ends, strands = np.where(better[:, None], other, ends), np.where(better, np.int8(step), strands)
        self._refuse_unknown(tiles)
        return fields_of(rules, ends.T, None, strands, pairs)

    def _refuse_unknown(self, tiles: PairTiles) -> None:
        """Raise the error of a letter outside the alphabet, if the device has met one."""
        if tiles.met_unknown_letters():
            has_complement = self.rules.strand != "forward"
            refuse_letters(self.whole.a, self.whole.b, self.rules.scoring, complement=has_complement)
            raise AssertionError("the device met a letter outside the alphabet that the host does not find")


def _choose_strand(strands: Sequence[PairSpans], found: Sequence[np.ndarray]) -> tuple[PairSpans, Any]:
    """(pairs, ends) of the better strand of each pair, the first one if scores are equal; ends may be None."""
    pairs = strands[0]
    ends: Any = found[0] if found else None
    for other, other_ends in zip(strands[1:], found[1:]):
        better = other_ends[:, 0] > ends[:, 0]
        ends = np.where(better[:, None], other_ends, ends)
        pairs = PairSpans(*(np.where(better, x, y) for x, y in zip(vars(other).values(), vars(pairs).values())))
    return pairs, ends
