"""Near misses: which steps, in which order, for which reason, and how the 404 tells them."""

from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Mismatch
from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.index import MAX_COMPARED_STEPS, build_index, overlay
from scenarios_app.engine.matching.near_misses import NearMiss, near_misses, unmatched_message
from scenarios_app.engine.scenario import Scenario
from tests.engine.asking import ask, saying, scenario, step, when
from tests.engine.drawn_asking import requests, scenarios

SERVED = Mismatch("consume", "not yet served in this session", "served")


def keys(misses: tuple[NearMiss, ...]) -> list[str]:
    return [miss.step.key for miss in misses]


def test_the_nearest_comes_first_with_all_that_failed() -> None:
    weather = saying(contains="weather in Paris")
    index = build_index(
        [
            scenario(
                "a",
                step(saying(equals="xyz"), key="far"),
                step(weather, key="near"),
                step(when(stream=True, messages=weather.of(MessageCondition)), key="two", turn=1),
            )
        ]
    )
    misses = near_misses(index, ask("whether in Paris"))
    assert keys(misses) == ["near", "far", "two"]
    assert misses[2].mismatches == (
        Mismatch("match.stream", "true", "false"),
        Mismatch(
            "match.messages[0]",
            'last user message contains "weather in Paris"',
            '"whether in Paris"',
        ),
    )
    assert misses[0].scenario.name == "a"
    assert 0 < misses[0].distance < misses[2].distance < misses[1].distance


def test_step_with_one_failed_condition_precedes_steps_with_more() -> None:
    weather = saying(contains="weather in Paris").of(MessageCondition)
    one = step(saying(contains="xyz"), key="one")
    two = step(when(stream=True, model=(TextCondition(equals="o1"),), messages=weather), key="two")
    index = build_index([scenario("a", two), scenario("b", one)])
    misses = near_misses(index, ask("weather in Paris"))
    assert keys(misses) == ["one", "two"]
    assert misses[1].distance < misses[0].distance
    assert unmatched_message(misses).index("“b”") < unmatched_message(misses).index("“a”")


def test_used_up_step_counts_that_as_one_more_failed_condition() -> None:
    index = build_index(
        [
            scenario("a", step(saying(contains="hell!"), key="used up")),
            scenario("b", step(saying(contains="xyz"), key="fresh")),
        ]
    )
    misses = near_misses(index, ask("hello"), served={("a", "used up")})
    assert keys(misses) == ["fresh", "used up"]


def test_in_a_long_text_what_matches_is_no_near_miss() -> None:
    long = "hay " * 10_000 + "needle"
    index = build_index(
        [
            scenario(
                "a",
                step(saying(contains="needle"), key="matched"),
                step(when(stream=True, messages=saying().of(MessageCondition)), key="other"),
                step(saying(contains="needles"), key="near"),
            )
        ]
    )
    assert keys(near_misses(index, ask(long))) == ["other", "near"]


def test_three_near_misses_are_listed_by_default() -> None:
    steps = [step(saying(equals=str(n)), key=str(n)) for n in range(5)]
    index = build_index([scenario("a", *steps)])
    assert len(near_misses(index, ask("x"))) == 3
    assert len(near_misses(index, ask("x"), limit=4)) == 4
    assert near_misses(index, ask("x"), limit=0) == ()


def test_ties_keep_the_order_of_choosing() -> None:
    same = saying(equals="xyz")
    index = build_index(
        [
            scenario("b", step(same, key="b1"), step(same, key="b2")),
            scenario("a", step(same, key="a")),
            scenario("c", step(same, key="c"), priority=1),
        ]
    )
    assert keys(near_misses(index, ask("hello"))) == ["c", "a", "b1"]


def test_a_step_that_was_served_is_the_nearest_of_all() -> None:
    index = build_index(
        [
            scenario("a", step(saying(contains="hell"), key="almost")),
            scenario("b", step(saying(contains="hello"), key="served")),
        ]
    )
    served = {("b", "served")}
    misses = near_misses(index, ask("hello"), served=served)
    assert misses[0].mismatches == (SERVED,)
    assert misses[0].distance == 0
    assert keys(misses) == ["served"]


def test_a_served_step_that_fails_otherwise_says_so_first() -> None:
    index = build_index([scenario("a", step(saying(equals="x"), key="1"))])
    (miss,) = near_misses(index, ask("y"), served={("a", "1")})
    assert [m.field for m in miss.mismatches] == ["match.messages[0]", "consume"]


def test_a_step_that_is_never_consumed_is_never_served() -> None:
    index = build_index([scenario("a", step(key="1", consume=False))])
    assert near_misses(index, ask("y"), served={("a", "1")}) == ()


def test_a_scenario_chosen_by_id_can_be_near_too() -> None:
    steps = step(key="1", turn=1), step(key="2", turn=2)
    index = build_index([scenario("run-test-1", *steps, select="first_user_message")])
    misses = near_misses(index, ask("run-test-2"))
    assert keys(misses) == ["1", "2"]
    assert misses[0].mismatches == (
        Mismatch("select", 'first user message equals "run-test-1"', '"run-test-2"'),
    )


def test_near_misses_of_one_scenario() -> None:
    index = build_index(
        [
            scenario("a", step(saying(equals="hello!"), key="a")),
            scenario("b", step(saying(equals="xyz"), key="b")),
        ]
    )
    assert keys(near_misses(index, ask("hello"), scenario="b")) == ["b"]
    assert near_misses(index, ask("hello"), scenario="c") == ()


def test_a_hidden_scenario_is_never_near() -> None:
    common = build_index([scenario("a", step(saying(equals="hello!"), key="common"))])
    index = overlay(common, [scenario("a", step(saying(equals="xyz"), key="own"))])
    assert keys(near_misses(index, ask("hello"))) == ["own"]


def large() -> list[Scenario]:
    steps = [step(saying(contains=f"topic {n} here"), key=str(n)) for n in range(5_000)]
    return [scenario("large", *steps), scenario("other", step(saying(equals="zzz"), key="other"))]


def test_among_very_many_those_that_share_words_are_compared() -> None:
    index = build_index(large())
    assert keys(near_misses(index, ask("topic 4711 her")))[0] == "4711"
    assert keys(near_misses(index, ask("topic 4711 her"), scenario="large"))[0] == "4711"
    assert keys(near_misses(index, ask("topic 4711 her"), scenario="other")) == ["other"]


def test_among_very_many_a_served_step_is_found_without_a_shared_word() -> None:
    served = step(saying(regex=r"^\d\d?$"), key="served")
    index = build_index([*large(), scenario("z", served)])
    misses = near_misses(index, ask("42"), served={("z", "served")})
    assert misses[0].mismatches == (SERVED,)
    assert keys(misses)[0] == "served"


def test_among_very_many_without_a_shared_word_the_first_are_compared() -> None:
    index = build_index(large())
    misses = near_misses(index, ask("0123"), limit=5_000)
    assert {int(key) for key in keys(misses)} == set(range(MAX_COMPARED_STEPS))


@given(scenarios(), requests(), st.integers(0, 5))
def test_every_near_miss_has_a_reason_and_no_match_is_one(
    every: list[Scenario], request: CanonicalRequest, limit: int
) -> None:
    index = build_index(every)
    misses = near_misses(index, request, limit=limit)
    matched = {candidate.step.key for candidate in index.candidates(request)}
    assert len(misses) <= limit
    order = [(len(miss.mismatches), miss.distance) for miss in misses]
    assert order == sorted(order)
    for miss in misses:
        assert miss.mismatches
        assert miss.step.key not in matched


def test_the_404_names_each_step_and_its_first_mismatch() -> None:
    index = build_index(
        [
            scenario("weather", step(saying(contains="weather"), key="k", label="call the tool")),
            scenario("sums", step(when(model=(TextCondition(equals="o1"),)), key="2"), priority=-1),
        ]
    )
    message = unmatched_message(near_misses(index, ask("whether")))
    assert message == (
        "no_scenario_matched: no step matches this request. Nearest: "
        "scenario “weather”, step “call the tool” "
        '(match.messages[0]: expected last user message contains "weather", got "whether"); '
        "scenario “sums”, step “2” "
        '(match.model: expected equals "o1", got "gpt-4o")'
    )


def test_the_404_of_an_empty_catalog() -> None:
    index = build_index([])
    assert list(index.candidates(ask("hi"))) == []
    assert unmatched_message(near_misses(index, ask("hi"))) == (
        "no_scenario_matched: there is no step that this request could match"
    )
