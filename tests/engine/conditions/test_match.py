"""Matching: each field of `match`, what mismatches say, groups."""

import pytest
from hypothesis import given

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import ConditionResult, Match, Mismatch
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import RegexError, TextCondition
from tests.engine.asking import (
    CHAT,
    ask,
    call,
    called,
    equals,
    explain_match,
    gave,
    match_request,
    message,
    on,
    result,
    say,
    saying,
    tool_call,
    tool_result,
    when,
)
from tests.engine.drawn_asking import MATCHES, requests

AZURE = "/openai/deployments/gpt/chat/completions"
TALK = (
    say("system", "You are kind."),
    "weather?",
    called("get_weather", '{"city": "Paris", "days": [1, 2], "deep": {"a": 1, "b": 2}}'),
    result("sunny in Paris"),
)
GPT = TextCondition(regex="^gpt-4")


@pytest.mark.parametrize(
    ("match", "request_"),
    [
        (when(), ask()),
        (when(provider=(equals("openai"),)), ask()),
        (when(provider=(equals("gemini"), equals("openai"))), ask()),
        (when(path=(equals(CHAT),)), ask(path=AZURE)),
        (when(path=(equals(AZURE),)), ask(path=AZURE)),
        (when(path=(TextCondition(startswith="/openai/"),)), ask(path=AZURE)),
        (when(model=(equals("o1"), GPT)), ask()),
        (when(stream=True), ask(stream=True)),
        (when(stream=False), ask()),
        (on(equals="weather?"), ask(*TALK)),
        (on(None, contains="sunny"), ask(*TALK)),
        (on("tool", contains="sunny"), ask(*TALK)),
        (on("system", "first", contains="kind"), ask(*TALK)),
        (on(None, 1, equals="weather?"), ask(*TALK)),
        (on("user", "any", equals="b"), ask("a", "b", "c")),
        (on("tool"), ask(*TALK)),
        (when(tools=("get weather", "a")), ask(tools=["a", "a", "get_weather<|x|>"])),
        (call("get_weather"), ask(*TALK)),
        (call(None, {"city": "Paris"}), ask(*TALK)),
        (call("get_weather", {"deep": {"b": 2}, "days": [1, 2]}), ask(*TALK)),
        (call("get_weather", "{broken"), ask(called("get_weather", "{broken"))),
        (call(), ask(*TALK)),
        (gave(), ask(*TALK)),
        (gave(TextCondition(contains="sunny"), name="get_weather"), ask(*TALK)),
        (gave(tool_call_id="call_1", is_error=False), ask(*TALK)),
        (gave(is_error=True), ask(result("a"), result("b", is_error=True))),
        (when(headers=(("X-Team", equals("qa")),)), ask(headers={"x-team": "qa"})),
        (when(metadata=(("run", TextCondition(startswith="r")),)), ask(metadata={"run": "r1"})),
    ],
)
def test_matches(match: Match, request_: CanonicalRequest) -> None:
    outcome = match_request(match, request_)
    assert (outcome.matched, outcome.mismatches, outcome.distance) == (True, (), 0.0)


@pytest.mark.parametrize(
    ("match", "request_", "field", "expected", "actual"),
    [
        (
            when(provider=(equals("anthropic"), equals("gemini"))),
            ask(),
            "match.provider",
            'equals "anthropic" or equals "gemini"',
            '"openai"',
        ),
        (
            when(path=(equals("/v1/x"),)),
            ask(path=AZURE),
            "match.path",
            'equals "/v1/x"',
            f'"{AZURE}", "{CHAT}"',
        ),
        (when(model=(GPT,)), ask(model="o1"), "match.model", 'matches "^gpt-4"', '"o1"'),
        (when(stream=True), ask(), "match.stream", "true", "false"),
        (when(stream=False), ask(stream=True), "match.stream", "false", "true"),
        (
            saying(contains="weather", ignore_case=True),
            ask("hello " * 50),
            "match.messages[0]",
            'last user message contains "weather" in any case',
            '"' + ("hello " * 50)[:79] + '…"',
        ),
        (
            on("tool", contains="sunny"),
            ask("hello"),
            "match.messages[0]",
            'last tool message contains "sunny"',
            "no last tool message",
        ),
        (
            on(None, 4, equals="x"),
            ask("hello"),
            "match.messages[0]",
            'message 4 equals "x"',
            "no message 4",
        ),
        (
            on("user", "any", equals="x"),
            ask("1", "2", "3", "4", "5"),
            "match.messages[0]",
            'any user message equals "x"',
            '"3", "4", "5" and 2 more',
        ),
        (
            on("tool"),
            ask(),
            "match.messages[0]",
            "last tool message is there",
            "no last tool message",
        ),
        (when(tools=("a", "c")), ask(tools=["a", "b"]), "match.tools[1]", 'tool "c"', '"a", "b"'),
        (when(tools=("a",)), ask(), "match.tools[0]", 'tool "a"', "no tools"),
        (
            call("get_weather", {"city": "Rome"}),
            ask(called("get_weather", '{"city":"Paris"}')),
            "match.tool_calls[0]",
            'call of "get_weather" with {"city": "Rome"}',
            r'"get_weather {\"city\":\"Paris\"}"',
        ),
        (call(), ask(), "match.tool_calls[0]", "a tool call", "no calls"),
        (
            gave(TextCondition(contains="rain"), name="a", tool_call_id="1", is_error=True),
            ask(*TALK),
            "match.tool_results[0]",
            'tool result that contains "rain", of tool "a", for call "1", an error',
            '"call_1 get_weather: sunny in Paris"',
        ),
        (
            gave(is_error=False),
            ask(result("oh", is_error=True)),
            "match.tool_results[0]",
            "tool result that is there, no error",
            '"call_1 get_weather (error): oh"',
        ),
        (gave(), ask(), "match.tool_results[0]", "tool result that is there", "no tool results"),
        (
            when(headers=(("X-Team", equals("qa")),)),
            ask(),
            "match.headers.x-team",
            'equals "qa"',
            "no header x-team",
        ),
        (
            when(metadata=(("run", equals("1")),)),
            ask(metadata={"run": "2"}),
            "match.metadata.run",
            'equals "1"',
            '"2"',
        ),
        (
            when(metadata=(("run", equals("1")),)),
            ask(),
            "match.metadata.run",
            'equals "1"',
            "no metadata run",
        ),
    ],
)
def test_mismatches_name_place_wanted_and_got(
    match: Match, request_: CanonicalRequest, field: str, expected: str, actual: str
) -> None:
    outcome = match_request(match, request_)
    assert not outcome.matched
    assert outcome.mismatches == (Mismatch(field, expected, actual),)
    assert 0 < outcome.distance <= 1
    assert outcome.groups == {}


def test_a_header_mismatch_shows_of_a_secret_its_end_alone() -> None:
    match = when(headers=(("Authorization", equals("Bearer other")),))
    (mismatch,) = match_request(
        match, ask(headers={"authorization": "Bearer sk-1234567"})
    ).mismatches
    assert mismatch.actual == '"…4567"'


def test_the_turn_is_one_more_condition() -> None:
    assert match_request(when(), ask(*TALK), turn=2).matched
    outcome = match_request(when(stream=True), ask("hello"), turn=2)
    assert outcome.mismatches == (
        Mismatch("match.stream", "true", "false"),
        Mismatch("turn", "2", "1"),
    )


def test_conditions_are_told_in_the_order_of_the_requirement() -> None:
    match = when(
        provider=(equals("x"),),
        path=(equals("x"),),
        model=(equals("x"),),
        stream=True,
        messages=(message(equals("x")),),
        tools=("x",),
        tool_calls=(tool_call("x"),),
        tool_results=(tool_result(equals("x")),),
        headers=(("x", equals("x")),),
        metadata=(("x", equals("x")),),
    )
    fields = [m.field for m in match_request(match, ask("hello"), turn=9).mismatches]
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


def test_explaining_tells_what_holds_too() -> None:
    match = when(provider=(equals("openai"),), stream=True)
    assert explain_match(match, ask(), turn=1) == (
        ConditionResult("match.provider", 'equals "openai"', '"openai"', True),
        ConditionResult("match.stream", "true", "false", False),
        ConditionResult("turn", "1", "1", True),
    )


def test_a_bad_regex_is_an_error_here_too() -> None:
    with pytest.raises(RegexError):
        saying(regex="(")


def test_one_call_must_have_name_and_arguments() -> None:
    talk = ask(called("a", '{"x": 1}'), called("b", '{"y": 1}'))
    assert match_request(call("a", {"x": 1}), talk).matched
    assert not match_request(call("a", {"y": 1}), talk).matched


def test_one_result_must_be_all_that_is_asked() -> None:
    talk = ask(result("sunny", "a", "1"), result("rain", "b", "2"))
    assert match_request(gave(equals("rain"), name="b", tool_call_id="2"), talk).matched
    for other in (
        gave(equals("rain"), name="a"),
        gave(equals("sunny"), tool_call_id="2"),
        gave(name="a", tool_call_id="2"),
    ):
        assert not match_request(other, talk).matched


@given(MATCHES, requests())
def test_matched_is_without_mismatch_and_at_distance_0(
    match: Match, request: CanonicalRequest
) -> None:
    outcome = match_request(match, request)
    compiled, reader = match, RequestReader(request)
    assert outcome.matched == compiled.holds(reader) == (not outcome.mismatches)
    assert outcome.matched == (outcome.distance == 0)
    assert 0 <= outcome.distance <= 1
    explained = explain_match(match, request)
    assert tuple(Mismatch(c.field, c.expected, c.actual) for c in explained if not c.ok) == (
        outcome.mismatches
    )
