"""Who wins comparisons: counts, and Bradley-Terry scores with intervals, the same in any order."""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

# A score of 1,000 is the middle; 400 points more are odds of ten to one, as in Elo's scale.
MIDDLE = 1_000.0
POINTS = 400.0
ROUNDS = 200
LEAST, MOST = 0.025, 0.975
_SEED = 20_250_101
_STEPS = 1_000
# Where the steps of the logarithms are this small, a score has its first decimal; those that
# intervals are drawn from are not worth the time, and within a point.
_CLOSE = 1e-8
_CLOSE_DRAWN = 1e-4
# Half a win and half a loss against nobody in particular: one who never lost has a score too.
_PRIOR = 0.5


@dataclass(frozen=True, slots=True, order=True)
class Vote:
    """`winner` beat `loser`; in a tie it does not matter which is which."""

    winner: str
    loser: str
    tie: bool = False


@dataclass(frozen=True, slots=True)
class Rank:
    """One profile's place. `low` and `high` hold 95 % of the scores that other votes of the same
    kind would have given."""

    profile: str
    wins: int
    losses: int
    ties: int
    score: float
    low: float
    high: float


Cells: TypeAlias = Mapping[Vote, int]


def rank(votes: Iterable[Vote]) -> list[Rank]:
    """Everyone that was voted on, the best first. A profile against itself counts for nothing."""
    counted = Counter(_ordered(vote) for vote in votes if vote.winner != vote.loser)
    return list(_rank(tuple(sorted(counted.items()))))


@lru_cache(maxsize=4)
def _rank(counted: tuple[tuple[Vote, int], ...]) -> tuple[Rank, ...]:
    cells = dict(counted)
    names = sorted({name for vote in cells for name in (vote.winner, vote.loser)})
    strength = _strengths(names, cells, start=dict.fromkeys(names, 1.0), close=_CLOSE)
    scores = _as_scores(strength)
    drawn = _drawn(names, cells, start=strength)
    ranks = [
        Rank(
            profile=name,
            wins=_count(cells, winner=name),
            losses=_count(cells, loser=name),
            ties=_ties(cells, name),
            score=round(scores[name], 1),
            low=round(_quantile(drawn[name], LEAST), 1),
            high=round(_quantile(drawn[name], MOST), 1),
        )
        for name in names
    ]
    return tuple(sorted(ranks, key=lambda rank: (-rank.score, rank.profile)))


def _ordered(vote: Vote) -> Vote:
    if vote.tie and vote.loser < vote.winner:
        return Vote(vote.loser, vote.winner, tie=True)
    return vote


def _count(cells: Cells, *, winner: str = "", loser: str = "") -> int:
    return sum(
        count
        for vote, count in cells.items()
        if not vote.tie and (vote.winner == winner or vote.loser == loser)
    )


def _ties(cells: Cells, name: str) -> int:
    return sum(n for vote, n in cells.items() if vote.tie and name in (vote.winner, vote.loser))


def _strengths(
    names: Sequence[str], cells: Cells, *, start: Mapping[str, float], close: float
) -> Mapping[str, float]:
    """The strengths that make these votes likeliest, by Hunter's minorisation (2004), a tie being
    half a win for each."""
    wins = dict.fromkeys(names, _PRIOR)
    met: dict[str, Counter[str]] = defaultdict(Counter)
    for vote, count in cells.items():
        wins[vote.winner] += count / 2 if vote.tie else count
        wins[vote.loser] += count / 2 if vote.tie else 0
        met[vote.winner][vote.loser] += count
        met[vote.loser][vote.winner] += count
    strength = start
    for _ in range(_STEPS):
        new = {name: wins[name] / _pulls(name, strength, met[name]) for name in names}
        moved = max((abs(math.log(new[n] / strength[n])) for n in names), default=0.0)
        strength = new
        if moved < close:
            break
    return strength


def _as_scores(strength: Mapping[str, float]) -> dict[str, float]:
    return {name: MIDDLE + POINTS * math.log10(value) for name, value in strength.items()}


def _pulls(name: str, strength: Mapping[str, float], met: Counter[str]) -> float:
    own = strength[name]
    prior = 2 * _PRIOR / (own + 1.0)
    return prior + sum(count / (own + strength[other]) for other, count in met.items())


def _drawn(
    names: Sequence[str], cells: Cells, *, start: Mapping[str, float]
) -> dict[str, list[float]]:
    """The scores of as many votes drawn from these, again and again, from a fixed seed.

    What did not happen might have: of two that met, each may win a little more often than it did,
    or one vote would seem to say for certain who is better.
    """
    likely: Counter[Vote] = Counter()
    for vote in cells:
        for either in (Vote(vote.winner, vote.loser), Vote(vote.loser, vote.winner)):
            likely[either] = 1
    kinds = sorted({*cells, *likely})
    weights = [cells.get(kind, 0) + likely[kind] * _PRIOR for kind in kinds]
    chance = random.Random(_SEED)
    drawn: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS if kinds else 0):
        sample = Counter(chance.choices(kinds, weights, k=sum(cells.values())))
        strength = _strengths(names, sample, start=start, close=_CLOSE_DRAWN)
        for name, score in _as_scores(strength).items():
            drawn[name].append(score)
    return drawn


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = math.ceil(place)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
