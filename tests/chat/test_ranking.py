"""Ranks of profiles from votes."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_app.ranking import MEAN_SCORE, ProfileRank, Vote, _rank_counts, rank_profiles
from tests.support.hypothesis_profiles import example_count

NAMES = st.sampled_from(["one", "two", "three", "four"])
VOTES = st.lists(st.builds(Vote, NAMES, NAMES, tie=st.booleans()), max_size=40)


SAMPLE_VOTES = [
    *[Vote("alpha", "beta")] * 7 + [Vote("beta", "alpha")] * 3,
    *[Vote("beta", "gamma")] * 6 + [Vote("gamma", "beta")] * 2,
    *[Vote("alpha", "gamma")] * 5 + [Vote("gamma", "alpha")],
    *[Vote("gamma", "delta")] * 3 + [Vote("delta", "gamma")],
    *[Vote("alpha", "gamma", tie=True)] * 2 + [Vote("beta", "alpha", tie=True)],
]
# Computed independently by Newton's method on the likelihood: for the votes, and for
# each of 200 samples of them that `random.Random(20_250_101)` draws. The last two numbers are the
# samples' 2.5 % and 97.5 % quantiles.
NEWTON = {
    "alpha": (1169.45, 1030.56, 1326.72),
    "beta": (1072.19, 934.12, 1209.45),
    "gamma": (945.38, 779.11, 1058.39),
    "delta": (808.54, 542.74, 1135.80),
}
EXPECTED_RANKS = [
    ProfileRank("alpha", wins=12, losses=4, ties=3, score=1169.5, low=1031.2, high=1325.8),
    ProfileRank("beta", wins=9, losses=9, ties=1, score=1072.2, low=934.8, high=1208.7),
    ProfileRank("gamma", wins=6, losses=12, ties=2, score=945.4, low=779.6, high=1057.7),
    ProfileRank("delta", wins=1, losses=3, ties=0, score=808.5, low=542.0, high=1136.1),
]


def rank_uncached(votes: list[Vote]) -> list[ProfileRank]:
    """Return ranks computed without the cache."""
    _rank_counts.cache_clear()
    return rank_profiles(votes)


def ranks_by_name(votes: list[Vote]) -> dict[str, ProfileRank]:
    return {rank.profile: rank for rank in rank_profiles(votes)}


def test_sample_votes_give_the_expected_ranks() -> None:
    assert rank_uncached(SAMPLE_VOTES) == EXPECTED_RANKS
    assert rank_uncached(SAMPLE_VOTES[::-1]) == EXPECTED_RANKS


def test_another_method_finds_the_same_scores_and_intervals() -> None:
    for rank in rank_uncached(SAMPLE_VOTES):
        score, low, high = NEWTON[rank.profile]
        assert rank.score == pytest.approx(score, abs=0.06)
        assert (rank.low, rank.high) == pytest.approx((low, high), abs=1.0)


def test_no_votes_give_an_empty_ranking() -> None:
    assert rank_profiles([]) == []


def test_wins_losses_and_ties_are_counted() -> None:
    votes = [
        Vote("one", "two"),
        Vote("one", "two"),
        Vote("two", "one"),
        Vote("two", "one", tie=True),
    ]
    ranks = ranks_by_name(votes)
    assert (ranks["one"].wins, ranks["one"].losses, ranks["one"].ties) == (2, 1, 1)
    assert (ranks["two"].wins, ranks["two"].losses, ranks["two"].ties) == (1, 2, 1)


def test_profile_with_more_wins_ranks_higher() -> None:
    votes = [Vote("one", "two")] * 7 + [Vote("two", "one")] * 3 + [Vote("two", "three")] * 5
    assert [rank.profile for rank in rank_profiles(votes)] == ["one", "two", "three"]


def test_profiles_without_a_common_vote_are_compared_through_others() -> None:
    votes = [Vote("one", "two")] * 9 + [Vote("two", "one")] + [Vote("two", "three")] * 9
    ranks = ranks_by_name([*votes, Vote("three", "two")])
    assert ranks["one"].score > ranks["two"].score > ranks["three"].score


def test_equal_profiles_have_equal_scores_in_the_middle() -> None:
    ranks = ranks_by_name([Vote("one", "two")] * 4 + [Vote("two", "one")] * 4)
    assert ranks["one"].score == pytest.approx(MEAN_SCORE)
    assert ranks["two"].score == pytest.approx(MEAN_SCORE)


def test_scores_match_the_closed_form_for_two_profiles() -> None:
    # For two profiles the model has a closed form: the odds are the wins with the prior's halves.
    ranks = ranks_by_name([Vote("one", "two")] * 30 + [Vote("two", "one")] * 10)
    chance = 1 / (1 + 10 ** ((ranks["two"].score - ranks["one"].score) / 400))
    assert chance == pytest.approx(30 / 40, abs=0.01)


def test_a_tie_is_half_a_win_for_each() -> None:
    ties = ranks_by_name([Vote("one", "two")] * 10 + [Vote("one", "two", tie=True)] * 20)
    halves = ranks_by_name([Vote("one", "two")] * 20 + [Vote("two", "one")] * 10)
    assert ties["one"].score == halves["one"].score


def test_profile_without_losses_has_a_finite_score() -> None:
    winner = ranks_by_name([Vote("one", "two")] * 50)["one"]
    assert MEAN_SCORE < winner.score < 2_500


def test_more_votes_make_the_interval_narrower() -> None:
    few = ranks_by_name([Vote("one", "two")] * 6 + [Vote("two", "one")] * 4)["one"]
    many = ranks_by_name([Vote("one", "two")] * 600 + [Vote("two", "one")] * 400)["one"]
    assert many.high - many.low < (few.high - few.low) / 3


def test_one_vote_leaves_the_intervals_overlapping() -> None:
    ranks = ranks_by_name([Vote("one", "two")])
    assert ranks["one"].low < MEAN_SCORE < ranks["one"].high
    assert ranks["two"].low < MEAN_SCORE < ranks["two"].high


def test_profile_is_ranked_from_ten_votes_on() -> None:
    # Undefeated, but after nine votes only.
    votes = [Vote("new", "old")] * 9 + [Vote("old", "older")] * 3
    assert [(rank.profile, rank.votes, rank.too_few_votes) for rank in rank_profiles(votes)] == [
        ("old", 12, False),
        ("new", 9, True),
        ("older", 3, True),
    ]
    ranks = rank_profiles([*votes, Vote("new", "old")])
    assert [rank.profile for rank in ranks] == ["new", "old", "older"]


def test_a_profile_against_itself_counts_for_nothing() -> None:
    assert rank_profiles([Vote("one", "one"), Vote("one", "one", tie=True)]) == []


@settings(max_examples=example_count(25))
@given(VOTES, st.randoms(use_true_random=False))
def test_the_order_of_votes_does_not_matter(votes: list[Vote], chance: random.Random) -> None:
    shuffled = [Vote(v.loser, v.winner, tie=True) if v.tie else v for v in votes]
    chance.shuffle(shuffled)
    assert rank_uncached(votes) == rank_uncached(shuffled)


@settings(max_examples=example_count(25))
@given(VOTES)
def test_every_score_lies_in_its_interval_or_near_it(votes: list[Vote]) -> None:
    for rank in rank_profiles(votes):
        assert rank.low <= rank.high
        assert rank.low - 300 <= rank.score <= rank.high + 300
