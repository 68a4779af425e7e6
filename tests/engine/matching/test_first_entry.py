"""The best entry for a request: the same as the first candidate's, found without an iterator."""

from scenarios_app.engine.instructions import START, may_hold_block
from scenarios_app.engine.matching.index import Index, build_index, overlay
from tests.engine.asking import ask, say, saying, scenario, step


def texts(index: Index, *consumed: tuple[str, str]) -> str | None:
    """Return the key of the first entry for "hi", which must be that of the first candidate."""
    entry = index.first(ask("hi"), set(consumed))
    candidate = next(index.candidates(ask("hi"), consumed=set(consumed)), None)
    assert (entry and entry.step) == (candidate and candidate.step)
    return entry.step.key if entry else None


def test_first_entry_is_the_first_that_matches_and_is_not_consumed() -> None:
    hi, other = saying(equals="hi"), saying(equals="other")
    index = build_index([scenario("a", step(other, "0"), step(hi, "1"), step(hi, "2"))])
    assert texts(index) == "1"
    assert texts(index, ("a", "1")) == "2"
    assert texts(index, ("a", "1"), ("a", "2")) is None


def test_first_entry_respects_a_default_before_a_particular_step() -> None:
    index = build_index([scenario("a", step(None, "0"), step(saying(equals="hi"), "1"))])
    assert texts(index) == "0"
    assert texts(index, ("a", "0")) == "1"


def test_first_entry_of_a_session_is_one_of_its_own_scenario() -> None:
    hi = saying(equals="hi")
    common = build_index([scenario("a", step(hi, "common"))])
    assert texts(overlay(common, [scenario("a", step(hi, "own"))])) == "own"


def test_block_is_possible_only_in_the_last_user_message_with_text() -> None:
    assert may_hold_block(ask(say("user", f"{START}{{}}")))
    assert may_hold_block(ask(say("user", START), say("user")))
    assert not may_hold_block(ask(say("user", START), say("assistant", "a"), say("user", "hi")))
    assert not may_hold_block(ask(say("system", START)))
