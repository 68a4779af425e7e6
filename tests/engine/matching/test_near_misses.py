"""Near misses: their steps, order and reasons, and the message of the 404."""

from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Mismatch
from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.matching.index import MAX_COMPARED_STEPS, build_index, overlay
from scenarios_app.engine.matching.near_misses import (
    NearMiss,
    near_misses,
    shares_topic,
    unmatched_message,
)
from scenarios_app.engine.scenario import Scenario
from tests.engine.match_builders import build_match, chat_request, scenario, step, user_text_match
from tests.engine.match_strategies import requests, scenarios

SERVED_MISMATCH = Mismatch("consume", "not yet served in this session", "served")


def step_keys(misses: tuple[NearMiss, ...]) -> list[str]:
    return [miss.step.key for miss in misses]


def test_nearest_step_comes_first_with_all_its_mismatches() -> None:
    weather = user_text_match(contains="weather in Paris")
    index = build_index(
        [
            scenario(
                "a",
                step(user_text_match(equals="xyz"), key="far"),
                step(weather, key="near"),
                step(
                    build_match(stream=True, messages=weather.of(MessageCondition)),
                    key="two",
                    turn=1,
                ),
            )
        ]
    )
    misses = near_misses(index, chat_request("whether in Paris"))
    assert step_keys(misses) == ["near", "far", "two"]
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
    weather = user_text_match(contains="weather in Paris").of(MessageCondition)
    one_failure = step(user_text_match(contains="xyz"), key="one")
    two_failures = step(
        build_match(stream=True, model=(TextCondition(equals="o1"),), messages=weather), key="two"
    )
    index = build_index([scenario("a", two_failures), scenario("b", one_failure)])
    misses = near_misses(index, chat_request("weather in Paris"))
    assert step_keys(misses) == ["one", "two"]
    assert misses[1].distance < misses[0].distance
    assert unmatched_message(misses).index("“b”") < unmatched_message(misses).index("“a”")


def test_consumption_counts_as_one_more_failed_condition() -> None:
    index = build_index(
        [
            scenario("a", step(user_text_match(contains="hell!"), key="used up")),
            scenario("b", step(user_text_match(contains="xyz"), key="fresh")),
        ]
    )
    misses = near_misses(index, chat_request("hello"), served={("a", "used up")})
    assert step_keys(misses) == ["fresh", "used up"]


def test_step_that_matches_a_long_text_is_no_near_miss() -> None:
    long = "hay " * 10_000 + "needle"
    index = build_index(
        [
            scenario(
                "a",
                step(user_text_match(contains="needle"), key="matched"),
                step(
                    build_match(stream=True, messages=user_text_match().of(MessageCondition)),
                    key="other",
                ),
                step(user_text_match(contains="needles"), key="near"),
            )
        ]
    )
    assert step_keys(near_misses(index, chat_request(long))) == ["other", "near"]


def test_three_near_misses_are_listed_by_default() -> None:
    steps = [step(user_text_match(equals=str(n)), key=str(n)) for n in range(5)]
    index = build_index([scenario("a", *steps)])
    assert len(near_misses(index, chat_request("x"))) == 3
    assert len(near_misses(index, chat_request("x"), limit=4)) == 4
    assert near_misses(index, chat_request("x"), limit=0) == ()


def test_ties_keep_the_order_of_choosing() -> None:
    same = user_text_match(equals="xyz")
    index = build_index(
        [
            scenario("b", step(same, key="b1"), step(same, key="b2")),
            scenario("a", step(same, key="a")),
            scenario("c", step(same, key="c"), priority=1),
        ]
    )
    assert step_keys(near_misses(index, chat_request("hello"))) == ["c", "a", "b1"]


def test_served_step_that_matches_is_the_nearest() -> None:
    index = build_index(
        [
            scenario("a", step(user_text_match(contains="hell"), key="almost")),
            scenario("b", step(user_text_match(contains="hello"), key="served")),
        ]
    )
    served = {("b", "served")}
    misses = near_misses(index, chat_request("hello"), served=served)
    assert misses[0].mismatches == (SERVED_MISMATCH,)
    assert misses[0].distance == 0
    assert step_keys(misses) == ["served"]


def test_served_step_lists_its_failed_conditions_before_its_consumption() -> None:
    index = build_index([scenario("a", step(user_text_match(equals="x"), key="1"))])
    (miss,) = near_misses(index, chat_request("y"), served={("a", "1")})
    assert [m.field for m in miss.mismatches] == ["match.messages[0]", "consume"]


def test_a_step_that_is_never_consumed_is_never_served() -> None:
    index = build_index([scenario("a", step(key="1", consume=False))])
    assert near_misses(index, chat_request("y"), served={("a", "1")}) == ()


def test_scenario_selected_by_id_can_be_a_near_miss() -> None:
    steps = step(key="1", turn=1), step(key="2", turn=2)
    index = build_index([scenario("run-test-1", *steps, select="first_user_message")])
    misses = near_misses(index, chat_request("run-test-2"))
    assert step_keys(misses) == ["1", "2"]
    assert misses[0].mismatches == (
        Mismatch("select", 'first user message equals "run-test-1"', '"run-test-2"'),
    )


def test_near_misses_of_one_scenario() -> None:
    index = build_index(
        [
            scenario("a", step(user_text_match(equals="hello!"), key="a")),
            scenario("b", step(user_text_match(equals="xyz"), key="b")),
        ]
    )
    assert step_keys(near_misses(index, chat_request("hello"), scenario="b")) == ["b"]
    assert near_misses(index, chat_request("hello"), scenario="c") == ()


def test_hidden_scenario_is_no_near_miss() -> None:
    common = build_index([scenario("a", step(user_text_match(equals="hello!"), key="common"))])
    index = overlay(common, [scenario("a", step(user_text_match(equals="xyz"), key="own"))])
    assert step_keys(near_misses(index, chat_request("hello"))) == ["own"]


def large_catalog() -> list[Scenario]:
    steps = [step(user_text_match(contains=f"topic {n} here"), key=str(n)) for n in range(5_000)]
    return [
        scenario("large", *steps),
        scenario("other", step(user_text_match(equals="zzz"), key="other")),
    ]


def test_in_a_large_catalog_steps_that_share_words_are_compared() -> None:
    index = build_index(large_catalog())
    assert step_keys(near_misses(index, chat_request("topic 4711 her")))[0] == "4711"
    assert (
        step_keys(near_misses(index, chat_request("topic 4711 her"), scenario="large"))[0] == "4711"
    )
    assert step_keys(near_misses(index, chat_request("topic 4711 her"), scenario="other")) == [
        "other"
    ]


def test_in_a_large_catalog_a_served_step_is_compared_without_a_shared_word() -> None:
    served_step = step(user_text_match(regex=r"^\d\d?$"), key="served")
    index = build_index([*large_catalog(), scenario("z", served_step)])
    misses = near_misses(index, chat_request("42"), served={("z", "served")})
    assert misses[0].mismatches == (SERVED_MISMATCH,)
    assert step_keys(misses)[0] == "served"


def test_in_a_large_catalog_the_first_steps_are_compared_without_shared_words() -> None:
    index = build_index(large_catalog())
    misses = near_misses(index, chat_request("0123"), limit=5_000)
    assert {int(key) for key in step_keys(misses)} == set(range(MAX_COMPARED_STEPS))


@given(scenarios(), requests(), st.integers(0, 5))
def test_near_misses_have_mismatches_and_exclude_matching_steps(
    all_scenarios: list[Scenario], request: CanonicalRequest, limit: int
) -> None:
    index = build_index(all_scenarios)
    misses = near_misses(index, request, limit=limit)
    matched = {candidate.step.key for candidate in index.candidates(request)}
    assert len(misses) <= limit
    sort_keys = [(len(miss.mismatches), miss.distance) for miss in misses]
    assert sort_keys == sorted(sort_keys)
    for miss in misses:
        assert miss.mismatches
        assert miss.step.key not in matched


def test_the_404_names_each_step_and_its_first_mismatch() -> None:
    index = build_index(
        [
            scenario(
                "weather", step(user_text_match(contains="weather"), key="k", label="call the tool")
            ),
            scenario(
                "sums", step(build_match(model=(TextCondition(equals="o1"),)), key="2"), priority=-1
            ),
        ]
    )
    message = unmatched_message(near_misses(index, chat_request("whether")))
    assert message == (
        "no_scenario_matched: no step matches this request. Nearest: "
        "scenario “weather”, step “call the tool” "
        '(match.messages[0]: expected last user message contains "weather", got "whether"); '
        "scenario “sums”, step “2” "
        '(match.model: expected equals "o1", got "gpt-4o")'
    )


def test_the_404_of_an_empty_catalog() -> None:
    index = build_index([])
    assert list(index.candidates(chat_request("hi"))) == []
    assert unmatched_message(near_misses(index, chat_request("hi"))) == (
        "no_scenario_matched: there is no step that this request could match. Add a scenario (in a "
        "test: mockllm.on(…).reply(…)), or load the fixture test_mode, which answers every request "
        '(a Django test: fixtures = ["test_mode"]; a server: --fixture test_mode)'
    )


def test_near_miss_shares_the_topic_if_a_telling_condition_holds() -> None:
    request = chat_request("weather in Paris", model="gpt-4o", stream=True)
    rows = {
        "text": (build_match(stream=False, messages=weather_messages("weather")), True),
        "model": (build_match(stream=False, model=(TextCondition(equals="gpt-4o"),)), True),
        "role alone": (build_match(stream=False, messages=weather_messages(None)), False),
        "nothing": (build_match(stream=False), False),
    }
    for name, (match, shares) in rows.items():
        (miss,) = near_misses(build_index([scenario("a", step(match, key="s"))]), request)
        assert shares_topic(miss, request) is shares, name


def weather_messages(part: str | None) -> tuple[MessageCondition, ...]:
    return user_text_match(contains=part).of(MessageCondition)
