"""Comparison of shapes by times of rounds, in each of which every shape ran once.

Times of one round are compared with each other only, so that other load, which changes from round to round, slows all.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from clgeom.core.policies import Policy
from clgeom.tuner.measure import Sample

#: A gain or loss below this is noise; the simpler shape stays.
NOISE = 0.03
#: Times below this, in seconds, are no times: clocks of devices count in nanoseconds at best.
TICK = 1e-9
#: Least share of the rounds that a winner must win.
MOST_ROUNDS = 2 / 3
#: Other kernels count as slower or faster if this share of so many rounds agrees; fewer rounds agree beyond `ROUGH`.
LEAST_PAIRS, AGREEMENT, ROUGH = 7, 0.8, 0.2


@dataclass(frozen=True)
class Ratio:
    """A shape's times in a case, each divided by the time of the present shape in the same round."""

    #: Of the kernel, for decisions: what the other kernels take more is added to its time, and what they take less to
    #: that of the present shape, if it is beyond noise in most rounds. So it is above 0.
    kernel: float
    call: float | None  #: of the whole call
    won: float  #: share of the rounds in which the kernel took less
    default_ms: float
    policy_ms: float
    call_default_ms: float | None
    call_policy_ms: float | None

    @property
    def gain(self) -> float:
        """How many times as fast the kernel is by itself."""
        return max(self.default_ms, 1e3 * TICK) / max(self.policy_ms, 1e3 * TICK)

    @property
    def slows_the_call(self) -> bool:
        """Whether the whole call takes more: by the rounds, or by the times that are kept and shown."""
        if self.call is None or self.call_policy_ms is None or self.call_default_ms is None:
            return False
        return max(self.call, self.call_policy_ms / self.call_default_ms) >= 1 + NOISE


def ratio(samples: Mapping[int, Sample], present: Mapping[int, Sample]) -> Ratio:
    """Compare the samples of a shape with those of the present one in the same rounds; both are by round."""
    rounds = sorted(set(samples) & set(present))
    pairs = [(samples[number], present[number]) for number in rounds]
    median = statistics.median
    more = _beyond_noise([(new.others, old.others) for new, old in pairs])
    slower, saved = max(more, 0.0), max(-more, 0.0)
    ratios = [max(new.kernel + slower, TICK) / max(old.kernel + saved, TICK) for new, old in pairs]
    calls = [(new.call, old.call) for new, old in pairs if new.call and old.call]
    return Ratio(
        median(ratios),
        median(new / old for new, old in calls) if calls else None,
        sum(one < 1 for one in ratios) / len(ratios),
        1e3 * median(old.kernel for _, old in pairs),
        1e3 * median(new.kernel for new, _ in pairs),
        1e3 * median(old for _, old in calls) if calls else None,
        1e3 * median(new for new, _ in calls) if calls else None,
    )


def _beyond_noise(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the median difference of pairs of times, if the rounds agree that there is one; else 0.

    Of many rounds almost all must agree; of few all, about a larger difference: where work moves from one kernel to
    another, as with smaller tiles, the first heats must see it.
    """
    more = statistics.median(new - old for new, old in pairs)
    least, most = (NOISE, AGREEMENT) if len(pairs) >= LEAST_PAIRS else (ROUGH, 1.0)
    agree = sum(abs(new - old) > least * old and (new > old) == (more > 0) for new, old in pairs)
    return more if agree >= most * len(pairs) else 0.0


def score(ratios: Iterable[Ratio]) -> float:
    """Return the geometric mean of a shape's ratios of kernels over all cases: below 1 it is faster."""
    return math.exp(statistics.fmean(math.log(one.kernel) for one in ratios))


def better_half(scores: dict[int, float]) -> list[int]:
    """Return the better half of the shapes, best first: at least two of three or more."""
    order = sorted(scores, key=lambda at: scores[at])
    return order[: max(-(-len(order) // 2), min(len(order), 2))]


def is_faster(ratios: Sequence[Ratio]) -> bool:
    """Return whether a shape beats the present one beyond noise, and makes no case slower."""
    wins = score(ratios) < 1 - NOISE and all(one.kernel < 1 + NOISE for one in ratios)
    often = any(one.won >= MOST_ROUNDS and one.kernel < 1 - NOISE for one in ratios)
    return wins and often and not any(one.slows_the_call for one in ratios)


def holds(one: Ratio) -> bool:
    """Return whether a winner is not slower in another case, where times may be short and less sure."""
    return one.kernel < 1 + 2 * NOISE and not one.slows_the_call


def winner(by_shape: dict[int, list[Ratio]], candidates: list[Policy], present: Policy) -> int | None:
    """Return the best shape that is faster, of equal ones that with the fewest changes; None for the present one."""
    faster = {at: score(ratios) for at, ratios in by_shape.items() if is_faster(ratios)}
    if not faster:
        return None
    near = [at for at, one in faster.items() if one < min(faster.values()) * (1 + NOISE)]

    def changes(at: int) -> int:
        return sum(getattr(candidates[at], one.name) != getattr(present, one.name) for one in fields(present))

    return min(near, key=lambda at: (changes(at), faster[at]))
