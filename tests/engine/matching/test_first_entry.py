"""`Index.first`: the same entry as the first candidate's, without an iterator."""

from scenarios_app.engine.instructions import START, may_hold_block
from scenarios_app.engine.matching.index import Index, build_index, overlay
from tests.engine.match_builders import chat_request, scenario, step, text_message, user_text_match


def first_key(index: Index, *consumed: tuple[str, str]) -> str | None:
    """Return the key of the first entry for "hi", which must be that of the first candidate."""
    entry = index.first(chat_request("hi"), set(consumed))
    candidate = next(index.candidates(chat_request("hi"), consumed=set(consumed)), None)
    assert (entry and entry.step) == (candidate and candidate.step)
    return entry.step.key if entry else None


def test_first_entry_is_the_first_that_matches_and_is_not_consumed() -> None:
    hi_match, other_match = user_text_match(equals="hi"), user_text_match(equals="other")
    index = build_index(
        [scenario("a", step(other_match, "0"), step(hi_match, "1"), step(hi_match, "2"))]
    )
    assert first_key(index) == "1"
    assert first_key(index, ("a", "1")) == "2"
    assert first_key(index, ("a", "1"), ("a", "2")) is None


def test_first_entry_respects_a_default_before_a_particular_step() -> None:
    index = build_index([scenario("a", step(None, "0"), step(user_text_match(equals="hi"), "1"))])
    assert first_key(index) == "0"
    assert first_key(index, ("a", "0")) == "1"


def test_first_entry_of_a_session_is_that_of_its_scenario() -> None:
    hi_match = user_text_match(equals="hi")
    common = build_index([scenario("a", step(hi_match, "common"))])
    assert first_key(overlay(common, [scenario("a", step(hi_match, "own"))])) == "own"


def test_block_is_possible_only_in_the_last_user_message_with_text() -> None:
    assert may_hold_block(chat_request(text_message("user", f"{START}{{}}")))
    assert may_hold_block(chat_request(text_message("user", START), text_message("user")))
    assert not may_hold_block(
        chat_request(
            text_message("user", START), text_message("assistant", "a"), text_message("user", "hi")
        )
    )
    assert not may_hold_block(chat_request(text_message("system", START)))
