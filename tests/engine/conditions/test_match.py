"""Matching: each field of `match`, the texts of mismatches, and named groups."""

import pytest
from hypothesis import given

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import ConditionResult, Match, Mismatch
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import RegexError, TextCondition
from tests.engine.match_builders import (
    CHAT,
    build_match,
    chat_request,
    equals,
    explain_match,
    match_request,
    message_condition,
    message_match,
    text_message,
    tool_call_condition,
    tool_call_match,
    tool_call_message,
    tool_result_condition,
    tool_result_match,
    tool_result_message,
    user_text_match,
)
from tests.engine.match_strategies import MATCHES, requests

AZURE = "/openai/deployments/gpt/chat/completions"
CONVERSATION = (
    text_message("system", "You are kind."),
    "weather?",
    tool_call_message("get_weather", '{"city": "Paris", "days": [1, 2], "deep": {"a": 1, "b": 2}}'),
    tool_result_message("sunny in Paris"),
)
GPT = TextCondition(regex="^gpt-4")


@pytest.mark.parametrize(
    ("match", "request_"),
    [
        (build_match(), chat_request()),
        (build_match(provider=(equals("openai"),)), chat_request()),
        (build_match(provider=(equals("gemini"), equals("openai"))), chat_request()),
        (build_match(path=(equals(CHAT),)), chat_request(path=AZURE)),
        (build_match(path=(equals(AZURE),)), chat_request(path=AZURE)),
        (build_match(path=(TextCondition(startswith="/openai/"),)), chat_request(path=AZURE)),
        (build_match(model=(equals("o1"), GPT)), chat_request()),
        (build_match(stream=True), chat_request(stream=True)),
        (build_match(stream=False), chat_request()),
        (message_match(equals="weather?"), chat_request(*CONVERSATION)),
        (message_match(None, contains="sunny"), chat_request(*CONVERSATION)),
        (message_match("tool", contains="sunny"), chat_request(*CONVERSATION)),
        (message_match("system", "first", contains="kind"), chat_request(*CONVERSATION)),
        (message_match(None, 1, equals="weather?"), chat_request(*CONVERSATION)),
        (message_match("user", "any", equals="b"), chat_request("a", "b", "c")),
        (message_match("tool"), chat_request(*CONVERSATION)),
        (
            build_match(tools=("get weather", "a")),
            chat_request(tools=["a", "a", "get_weather<|x|>"]),
        ),
        (tool_call_match("get_weather"), chat_request(*CONVERSATION)),
        (tool_call_match(None, {"city": "Paris"}), chat_request(*CONVERSATION)),
        (
            tool_call_match("get_weather", {"deep": {"b": 2}, "days": [1, 2]}),
            chat_request(*CONVERSATION),
        ),
        (
            tool_call_match("get_weather", "{broken"),
            chat_request(tool_call_message("get_weather", "{broken")),
        ),
        (tool_call_match(), chat_request(*CONVERSATION)),
        (tool_result_match(), chat_request(*CONVERSATION)),
        (
            tool_result_match(TextCondition(contains="sunny"), name="get_weather"),
            chat_request(*CONVERSATION),
        ),
        (tool_result_match(tool_call_id="call_1", is_error=False), chat_request(*CONVERSATION)),
        (
            tool_result_match(is_error=True),
            chat_request(tool_result_message("a"), tool_result_message("b", is_error=True)),
        ),
        (build_match(headers=(("X-Team", equals("qa")),)), chat_request(headers={"x-team": "qa"})),
        (
            build_match(metadata=(("run", TextCondition(startswith="r")),)),
            chat_request(metadata={"run": "r1"}),
        ),
    ],
)
def test_request_that_meets_its_condition_matches(match: Match, request_: CanonicalRequest) -> None:
    outcome = match_request(match, request_)
    assert (outcome.matched, outcome.mismatches, outcome.distance) == (True, (), 0.0)


@pytest.mark.parametrize(
    ("match", "request_", "field", "expected", "actual"),
    [
        (
            build_match(provider=(equals("anthropic"), equals("gemini"))),
            chat_request(),
            "match.provider",
            'equals "anthropic" or equals "gemini"',
            '"openai"',
        ),
        (
            build_match(path=(equals("/v1/x"),)),
            chat_request(path=AZURE),
            "match.path",
            'equals "/v1/x"',
            f'"{AZURE}", "{CHAT}"',
        ),
        (
            build_match(model=(GPT,)),
            chat_request(model="o1"),
            "match.model",
            'matches "^gpt-4"',
            '"o1"',
        ),
        (build_match(stream=True), chat_request(), "match.stream", "true", "false"),
        (build_match(stream=False), chat_request(stream=True), "match.stream", "false", "true"),
        (
            user_text_match(contains="weather", ignore_case=True),
            chat_request("hello " * 50),
            "match.messages[0]",
            'last user message contains "weather" in any case',
            '"' + ("hello " * 50)[:79] + '…"',
        ),
        (
            user_text_match(contains="refund"),
            chat_request("I want a Refund"),
            "match.messages[0]",
            'last user message contains "refund"',
            '"I want a Refund" (differs only in case; `ignore_case` allows it)',
        ),
        (
            message_match("tool", contains="sunny"),
            chat_request("hello"),
            "match.messages[0]",
            'last tool message contains "sunny"',
            "no last tool message",
        ),
        (
            message_match(None, 4, equals="x"),
            chat_request("hello"),
            "match.messages[0]",
            'message 4 equals "x"',
            "no message 4",
        ),
        (
            message_match("user", "any", equals="x"),
            chat_request("1", "2", "3", "4", "5"),
            "match.messages[0]",
            'any user message equals "x"',
            '"3", "4", "5" and 2 more',
        ),
        (
            message_match("tool"),
            chat_request(),
            "match.messages[0]",
            "last tool message is there",
            "no last tool message",
        ),
        (
            build_match(tools=("a", "c")),
            chat_request(tools=["a", "b"]),
            "match.tools[1]",
            'tool "c"',
            '"a", "b"',
        ),
        (build_match(tools=("a",)), chat_request(), "match.tools[0]", 'tool "a"', "no tools"),
        (
            tool_call_match("get_weather", {"city": "Rome"}),
            chat_request(tool_call_message("get_weather", '{"city":"Paris"}')),
            "match.tool_calls[0]",
            'call of "get_weather" with {"city": "Rome"}',
            r'"get_weather {\"city\":\"Paris\"}"',
        ),
        (tool_call_match(), chat_request(), "match.tool_calls[0]", "a tool call", "no calls"),
        (
            tool_result_match(
                TextCondition(contains="rain"), name="a", tool_call_id="1", is_error=True
            ),
            chat_request(*CONVERSATION),
            "match.tool_results[0]",
            'tool result that contains "rain", of tool "a", for call "1", an error',
            '"call_1 get_weather: sunny in Paris"',
        ),
        (
            tool_result_match(TextCondition(contains="Sunny")),
            chat_request(*CONVERSATION),
            "match.tool_results[0]",
            'tool result that contains "Sunny"',
            '"call_1 get_weather: sunny in Paris" (differs only in case; `ignore_case` allows it)',
        ),
        (
            tool_result_match(is_error=False),
            chat_request(tool_result_message("oh", is_error=True)),
            "match.tool_results[0]",
            "tool result that is there, no error",
            '"call_1 get_weather (error): oh"',
        ),
        (
            tool_result_match(),
            chat_request(),
            "match.tool_results[0]",
            "tool result that is there",
            "no tool results",
        ),
        (
            build_match(headers=(("X-Team", equals("qa")),)),
            chat_request(),
            "match.headers.x-team",
            'equals "qa"',
            "no header x-team",
        ),
        (
            build_match(metadata=(("run", equals("1")),)),
            chat_request(metadata={"run": "2"}),
            "match.metadata.run",
            'equals "1"',
            '"2"',
        ),
        (
            build_match(metadata=(("run", equals("1")),)),
            chat_request(),
            "match.metadata.run",
            'equals "1"',
            "no metadata run",
        ),
    ],
)
def test_mismatch_names_field_expected_and_actual(
    match: Match, request_: CanonicalRequest, field: str, expected: str, actual: str
) -> None:
    outcome = match_request(match, request_)
    assert not outcome.matched
    assert outcome.mismatches == (Mismatch(field, expected, actual),)
    assert 0 < outcome.distance <= 1
    assert outcome.groups == {}


def test_mismatch_of_a_secret_header_shows_only_its_end() -> None:
    match = build_match(headers=(("Authorization", equals("Bearer other")),))
    (mismatch,) = match_request(
        match, chat_request(headers={"authorization": "Bearer sk-1234567"})
    ).mismatches
    assert mismatch.actual == '"…4567"'


def test_turn_is_an_additional_condition() -> None:
    assert match_request(build_match(), chat_request(*CONVERSATION), turn=2).matched
    outcome = match_request(build_match(stream=True), chat_request("hello"), turn=2)
    assert outcome.mismatches == (
        Mismatch("match.stream", "true", "false"),
        Mismatch("turn", "2", "1"),
    )


def test_mismatches_are_listed_in_the_order_of_the_requirement() -> None:
    match = build_match(
        provider=(equals("x"),),
        path=(equals("x"),),
        model=(equals("x"),),
        stream=True,
        messages=(message_condition(equals("x")),),
        tools=("x",),
        tool_calls=(tool_call_condition("x"),),
        tool_results=(tool_result_condition(equals("x")),),
        headers=(("x", equals("x")),),
        metadata=(("x", equals("x")),),
    )
    fields = [m.field for m in match_request(match, chat_request("hello"), turn=9).mismatches]
    assert fields == [
        "match.provider",
        "match.path",
        "match.model",
        "match.stream",
        "turn",
        "match.messages[0]",
        "match.tools[0]",
        "match.tool_calls[0]",
        "match.tool_results[0]",
        "match.headers.x",
        "match.metadata.x",
    ]


def test_explanation_includes_conditions_that_hold() -> None:
    match = build_match(provider=(equals("openai"),), stream=True)
    assert explain_match(match, chat_request(), turn=1) == (
        ConditionResult("match.provider", 'equals "openai"', '"openai"', True),
        ConditionResult("match.stream", "true", "false", False),
        ConditionResult("turn", "1", "1", True),
    )


def test_invalid_regex_is_an_error_when_built_in_code() -> None:
    with pytest.raises(RegexError):
        user_text_match(regex="(")


def test_one_call_must_meet_both_name_and_arguments() -> None:
    conversation = chat_request(
        tool_call_message("a", '{"x": 1}'), tool_call_message("b", '{"y": 1}')
    )
    assert match_request(tool_call_match("a", {"x": 1}), conversation).matched
    assert not match_request(tool_call_match("a", {"y": 1}), conversation).matched


def test_one_result_must_meet_all_its_conditions() -> None:
    conversation = chat_request(
        tool_result_message("sunny", "a", "1"), tool_result_message("rain", "b", "2")
    )
    assert match_request(
        tool_result_match(equals("rain"), name="b", tool_call_id="2"), conversation
    ).matched
    for mixed_match in (
        tool_result_match(equals("rain"), name="a"),
        tool_result_match(equals("sunny"), tool_call_id="2"),
        tool_result_match(name="a", tool_call_id="2"),
    ):
        assert not match_request(mixed_match, conversation).matched


@given(MATCHES, requests())
def test_matched_request_has_no_mismatch_and_distance_0(
    match: Match, request: CanonicalRequest
) -> None:
    outcome = match_request(match, request)
    compiled_match, reader = match, RequestReader(request)
    assert outcome.matched == compiled_match.holds(reader) == (not outcome.mismatches)
    assert outcome.matched == (outcome.distance == 0)
    assert 0 <= outcome.distance <= 1
    explained = explain_match(match, request)
    assert tuple(Mismatch(c.field, c.expected, c.actual) for c in explained if not c.ok) == (
        outcome.mismatches
    )
