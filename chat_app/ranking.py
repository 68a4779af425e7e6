"""Ranks profiles by votes: counts and Bradley-Terry scores with intervals."""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import quantiles
from typing import TypeAlias

# 1,000 is the average score; 400 points more mean ten wins for each loss, as in Elo's scale.
MEAN_SCORE = 1_000.0
POINTS = 400.0
# A profile with fewer votes is not ranked: its interval says little, and it comes after the others.
MIN_VOTES = 10
RESAMPLES = 200
_SEED = 20_250_101
_MAX_STEPS = 1_000
# Steps of the logarithms below this change no first decimal of a score; resampled scores need to
# be right to a point only.
_CONVERGENCE = 1e-8
_RESAMPLE_CONVERGENCE = 1e-4
# Half a win and half a loss against an average opponent, so that all scores are finite.
_PRIOR = 0.5


@dataclass(frozen=True, slots=True, order=True)
class Vote:
    """A vote for `winner` over `loser`; in a tie, their order does not matter."""

    winner: str
    loser: str
    tie: bool = False


@dataclass(frozen=True, slots=True)
class ProfileRank:
    """One profile's counts and score; `low` and `high` are the 95 % interval."""

    profile: str
    wins: int
    ties: int
    losses: int
    score: float
    low: float
    high: float

    @property
    def votes(self) -> int:
        return self.wins + self.ties + self.losses

    @property
    def too_few_votes(self) -> bool:
        """True if the profile has fewer than MIN_VOTES votes."""
        return self.votes < MIN_VOTES


VoteCounts: TypeAlias = Mapping[Vote, int]


def rank_profiles(votes: Iterable[Vote]) -> list[ProfileRank]:
    """Rank all profiles with votes: the best first, those with too few votes last. A vote between
    a profile and itself does not count."""
    vote_counts = Counter(_sort_tie(vote) for vote in votes if vote.winner != vote.loser)
    return list(_rank_counts(tuple(sorted(vote_counts.items()))))


@lru_cache(maxsize=4)
def _rank_counts(vote_counts: tuple[tuple[Vote, int], ...]) -> tuple[ProfileRank, ...]:
    """Rank the profiles in counted votes, the best first; results are cached."""
    counts = dict(vote_counts)
    names = sorted({name for vote in counts for name in (vote.winner, vote.loser)})
    strength = _strengths(names, counts, start=dict.fromkeys(names, 1.0), tolerance=_CONVERGENCE)
    scores = _to_scores(strength)
    drawn = _bootstrap_scores(names, counts, start=strength)
    wins, ties, losses = Counter[str](), Counter[str](), Counter[str]()
    for vote, count in counts.items():
        (ties if vote.tie else wins)[vote.winner] += count
        (ties if vote.tie else losses)[vote.loser] += count
    ranks = []
    for name in names:
        # Fortieths, of which the first and the last bound the 95 % interval.
        low, *_, high = quantiles(drawn[name], n=40, method="inclusive")
        score, low, high = (round(value, 1) for value in (scores[name], low, high))
        ranks.append(ProfileRank(name, wins[name], ties[name], losses[name], score, low, high))
    return tuple(sorted(ranks, key=lambda row: (row.too_few_votes, -row.score, row.profile)))


def _sort_tie(vote: Vote) -> Vote:
    """Return a tie with its profiles in alphabetical order, so that equal ties count as one."""
    if vote.tie and vote.loser < vote.winner:
        return Vote(vote.loser, vote.winner, tie=True)
    return vote


def _strengths(
    names: Sequence[str], counts: VoteCounts, *, start: Mapping[str, float], tolerance: float
) -> Mapping[str, float]:
    """Return the maximum-likelihood strengths by Hunter's minorisation (2004); a tie is half a win
    for each."""
    wins = dict.fromkeys(names, _PRIOR)
    opponents: dict[str, Counter[str]] = defaultdict(Counter)
    for vote, count in counts.items():
        wins[vote.winner] += count / 2 if vote.tie else count
        wins[vote.loser] += count / 2 if vote.tie else 0
        opponents[vote.winner][vote.loser] += count
        opponents[vote.loser][vote.winner] += count
    strength = start
    for _ in range(_MAX_STEPS):
        new = {name: wins[name] / _denominator(name, strength, opponents[name]) for name in names}
        largest_change = max((abs(math.log(new[n] / strength[n])) for n in names), default=0.0)
        strength = new
        if largest_change < tolerance:
            break
    return strength


def _to_scores(strength: Mapping[str, float]) -> dict[str, float]:
    """Convert strengths to scores on Elo's scale."""
    return {name: MEAN_SCORE + POINTS * math.log10(value) for name, value in strength.items()}


def _denominator(name: str, strength: Mapping[str, float], opponents: Counter[str]) -> float:
    """Return the denominator of a name's next strength in Hunter's iteration."""
    own = strength[name]
    prior = 2 * _PRIOR / (own + 1.0)
    return prior + sum(count / (own + strength[other]) for other, count in opponents.items())


def _bootstrap_scores(
    names: Sequence[str], counts: VoteCounts, *, start: Mapping[str, float]
) -> dict[str, list[float]]:
    """Return each name's scores in RESAMPLES bootstrap samples of the votes, by a fixed seed. Each
    outcome of two profiles has a small prior weight, or a single vote would seem certain."""
    pairs = [(vote.winner, vote.loser) for vote in counts]
    outcomes = {Vote(*pair) for result in pairs for pair in (result, result[::-1])}
    kinds = sorted({*counts, *outcomes})
    weights = [counts.get(kind, 0) + (kind in outcomes) * _PRIOR for kind in kinds]
    chance = random.Random(_SEED)
    drawn: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(RESAMPLES if kinds else 0):
        sample = Counter(chance.choices(kinds, weights, k=sum(counts.values())))
        strength = _strengths(names, sample, start=start, tolerance=_RESAMPLE_CONVERGENCE)
        for name, score in _to_scores(strength).items():
            drawn[name].append(score)
    return drawn
