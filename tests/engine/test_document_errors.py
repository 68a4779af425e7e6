"""What a wrong document is told: always the place, and what was expected there."""

from typing import Any

import pytest

from scenarios_app.engine import document_base
from scenarios_app.engine.document import load_documents
from scenarios_app.engine.document_errors import DocumentError, Problem, place_of, quoted
from tests.engine.documents import one_step


def lines(document: object) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        load_documents(document)
    return str(caught.value).splitlines()


UP_TO = "from 0 to 2147483647"
KINDS = (
    "http, rate_limit, model_error, timeout, network_error, invalid_response, "
    "disconnect, truncate, malformed_chunk, stall, error_event"
)
NAME = "expected 1 to 200 printable characters without spaces around them"

SCENARIO: list[tuple[object, str]] = [
    (None, "expected an object"),
    ([], "expected an object"),
    ("weather", "expected an object"),
    ({}, "name: missing"),
    ({"name": 5}, f"name: {NAME}"),
    ({"name": ""}, f"name: {NAME}"),
    ({"name": " a"}, f"name: {NAME}"),
    ({"name": "a\nb"}, f"name: {NAME}"),
    ({"name": "a" * 201}, f"name: {NAME}"),
    ({"name": "a", "steps": None}, "steps: expected a list"),
    ({"name": "a", "steps": {}}, "steps: expected a list"),
    ({"name": "a", "steps": [None]}, "steps[0]: expected an object"),
    ({"name": "a", "enabled": "yes"}, "enabled: expected true or false"),
    ({"name": "a", "enabled": 1}, "enabled: expected true or false"),
    (
        {"name": "a", "priority": "1"},
        "priority: expected a whole number from -2147483647 to 2147483647",
    ),
    (
        {"name": "a", "priority": True},
        "priority: expected a whole number from -2147483647 to 2147483647",
    ),
    (
        {"name": "a", "priority": 1.0},
        "priority: expected a whole number from -2147483647 to 2147483647",
    ),
    ({"name": "a", "select": "first"}, "select: expected match or first_user_message"),
    ({"name": "a", "tags": "demo"}, "tags: expected a list"),
    ({"name": "a", "tags": [1]}, f"tags[0]: {NAME}"),
    ({"name": "a", "variables": []}, "variables: expected an object"),
    ({"name": "a", "description": None}, "description: expected a string"),
    (
        {"name": "a", "system_prompt_must_include": [""]},
        "system_prompt_must_include[0]: expected a string of at least one character",
    ),
    ({"name": "a", "Steps": []}, 'Steps: unknown key, did you mean "steps"?'),
    (
        {"name": "a", "x y": 1},
        '["x y"]: unknown key, expected one of version, name, description, priority, enabled, '
        "select, tags, variables, system_prompt_must_include, steps",
    ),
    ({"scenarios": None}, "scenarios: expected a list"),
    ({"scenarios": [5]}, "scenarios[0]: expected an object"),
    ({"scenarios": [{}]}, "scenarios[0].name: missing"),
    (
        {"scenarios": [], "name": "a"},
        "name: unknown key, expected one of version, scenarios",
    ),
    (
        {"name": "a", "variables": {"match": {"city": "Rome"}}},
        "variables.match: an object of this name would never be seen in an answer",
    ),
]


@pytest.mark.parametrize(("document", "line"), SCENARIO)
def test_a_wrong_scenario_is_told_the_place(document: object, line: str) -> None:
    assert lines(document) == [line]


WHEN: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, f"name: {NAME}"),
    ({"turn": 0}, "turn: expected a whole number from 1 to 2147483647"),
    ({"turn": "1"}, "turn: expected a whole number from 1 to 2147483647"),
    ({"consume": None}, "consume: expected true or false"),
    ({"prduce": {"text": "a"}}, 'prduce: unknown key, did you mean "produce"?'),
    ({"match": []}, "match: expected an object"),
    ({"match": {"provider": 5}}, "match.provider: expected a string or an object"),
    ({"match": {"provider": []}}, "match.provider: expected at least one"),
    ({"match": {"provider": [5]}}, "match.provider[0]: expected a string or an object"),
    (
        {"match": {"model": {}}},
        "match.model: expected at least one of equals, contains, startswith, regex",
    ),
    (
        {"match": {"model": {"ignore_case": True}}},
        "match.model: expected at least one of equals, contains, startswith, regex",
    ),
    (
        {"match": {"model": {"regexp": "a"}}},
        'match.model.regexp: unknown key, did you mean "regex"?',
    ),
    ({"match": {"model": {"regex": "("}}}, "match.model.regex: not an RE2 pattern: missing ): ("),
    ({"match": {"model": {"regex": 5}}}, "match.model.regex: expected an RE2 pattern"),
    ({"match": {"model": {"regex": ""}}}, "match.model.regex: expected an RE2 pattern"),
    (
        {"match": {"path": [{"contains": ""}]}},
        "match.path[0].contains: expected a string of at least one character",
    ),
    ({"match": {"stream": "true"}}, "match.stream: expected true or false"),
    ({"match": {"messages": {}}}, "match.messages: expected a list"),
    (
        {"match": {"messages": [{"role": "developer"}]}},
        "match.messages[0].role: expected system, user, assistant or tool",
    ),
    (
        {"match": {"messages": [{"role": "user", "which": -1}]}},
        "match.messages[0].which: expected last, first, any or an index from 0",
    ),
    (
        {"match": {"messages": [{"role": "user", "which": True}]}},
        "match.messages[0].which: expected last, first, any or an index from 0",
    ),
    (
        {"match": {"messages": [{"which": "any"}]}},
        "match.messages[0]: expected at least one of role, equals, contains, startswith, regex",
    ),
    ({"match": {"tools": [None]}}, "match.tools[0]: expected a string of at least one character"),
    (
        {"match": {"tool_calls": [{"arguments": "{}"}]}},
        "match.tool_calls[0].arguments: expected an object",
    ),
    ({"match": {"tool_results": [5]}}, "match.tool_results[0]: expected a string or an object"),
    (
        {"match": {"headers": {"x team": "a"}}},
        'match.headers["x team"]: this is not the name of a header',
    ),
    (
        {"match": {"headers": {"X-Team": "a", "x-team": "b"}}},
        "match.headers.x-team: this header is given twice",
    ),
    (
        {"match": {"metadata": {"a.b": None}}},
        'match.metadata["a.b"]: expected a string or an object',
    ),
    ({"expect": {"temperature": "hot"}}, "expect.temperature: expected a number"),
    ({"expect": {"top_p": True}}, "expect.top_p: expected a number"),
    ({"expect": {"reasoning": "on"}}, "expect.reasoning: expected enabled or disabled"),
    ({"failures": {}}, "failures.times: missing"),
    (
        {"failures": {"times": 0}},
        "failures.times: expected a whole number from 1 to 2147483647",
    ),
    (
        {"side_effects": {"status": 99}},
        "side_effects.status: expected an HTTP status from 200 to 599",
    ),
    (
        {"side_effects": {"status": 204}},
        "side_effects.status: an answer of status 204 has no body: script it as raw",
    ),
    (
        {"side_effects": {"headers": {"x-a": "ümlaut\r\n"}}},
        "side_effects.headers.x-a: expected printable latin-1 without spaces around it",
    ),
    (
        {"side_effects": {"headers": {"x-a": "→"}}},
        "side_effects.headers.x-a: expected printable latin-1 without spaces around it",
    ),
    (
        {"side_effects": {"headers": {"Content-Length": "1"}}},
        "side_effects.headers.Content-Length: this header is the connection's own",
    ),
    (
        {"side_effects": {"echo_headers": ["transfer-encoding"]}},
        "side_effects.echo_headers[0]: expected the name of a header, not one of the "
        "connection's own",
    ),
    (
        {"side_effects": {"asserts": []}},
        'side_effects.asserts: unknown key, did you mean "assert"?',
    ),
    (
        {"side_effects": {"assert": [{"model": {"regex": "["}}]}},
        "side_effects.assert[0].model.regex: not an RE2 pattern: missing ]: [",
    ),
]


@pytest.mark.parametrize(("step", "line"), WHEN)
def test_a_wrong_step_is_told_the_place(step: dict[str, Any], line: str) -> None:
    assert lines(one_step(**step)) == [f"steps[0].{line}"]


NOTHING = 'says nothing: give it an answer (text "" for an empty one)'
PRODUCE: list[tuple[Any, str]] = [
    (None, ": expected an object"),
    ({}, f": {NOTHING}"),
    ({"tool_calls": [], "reasoning": []}, f": {NOTHING}"),
    ({"finish_reason": "stop"}, f": {NOTHING}"),
    ({"streaming": {}}, f".streaming: {NOTHING}"),
    ({"text": 5}, ".text: expected a string"),
    ({"text": "a", "parts": [{"text": "b"}]}, ".parts: cannot stand beside text"),
    ({"reasoning": "a", "chunks": ["b"]}, ".chunks: cannot stand beside reasoning"),
    ({"parts": [{"text": "a"}], "raw": {}}, ".raw: cannot stand beside parts"),
    ({"text": "a", "streaming": {"text": "b"}}, ".streaming: cannot stand beside text"),
    ({"raw": {}, "usage": {"input_tokens": 1}}, ".usage: cannot stand beside raw"),
    (
        {"choices": [{"text": "a"}], "finish_reason": "stop"},
        ".finish_reason: cannot stand beside choices",
    ),
    (
        {"non_streaming": {"text": "a"}, "provider_metadata": {"openai": {}}},
        ".provider_metadata: cannot stand beside non_streaming",
    ),
    ({"choices": []}, ".choices: expected at least one"),
    ({"chunks": []}, ".chunks: expected at least one"),
    ({"parts": []}, ".parts: expected at least one"),
    ({"choices": [{"chunks": ["a"]}]}, ".choices[0].chunks: unknown key, expected one of "),
    ({"reasoning": 5}, ".reasoning: expected a string or a list"),
    ({"reasoning": ["a"]}, ".reasoning[0]: expected an object"),
    ({"reasoning": [{"signature": "s"}]}, ".reasoning[0].text: missing"),
    (
        {"reasoning": [{"redacted": True}]},
        ".reasoning[0].text: expected the encrypted form, since redacted is true",
    ),
    (
        {"reasoning": [{"redacted": 1}]},
        ".reasoning[0].redacted: expected true, false or a string of at least one character",
    ),
    ({"tool_calls": [{"arguments": {}}]}, ".tool_calls[0].name: missing"),
    (
        {"finish_reason": "tool-calls", "text": "a"},
        ".finish_reason: expected stop, length, tool_calls, content_filter or stop_sequence",
    ),
    (
        {"stop_sequence": "END", "text": "a"},
        ".stop_sequence: expected beside finish_reason stop_sequence alone",
    ),
    (
        {"text": "a", "usage": {"input_tokens": -1}},
        f".usage.input_tokens: expected a whole number {UP_TO}",
    ),
    (
        {"text": "a", "usage": {"outputTokens": 1}},
        '.usage.outputTokens: unknown key, did you mean "output_tokens"?',
    ),
    (
        {"text": "a", "provider_metadata": {"openai": 1}},
        ".provider_metadata.openai: expected an object",
    ),
    ({"text": "a", "latency_ms": 600_001}, ".latency_ms: expected at most 600000 milliseconds"),
    (
        {"text": "a", "pacing": {"first_ms": 600_001}},
        ".pacing.first_ms: expected at most 600000 milliseconds",
    ),
    (
        {"text": "a", "pacing": {"chunk_ms": 600_001}},
        ".pacing.chunk_ms: expected at most 600000 milliseconds",
    ),
    ({"text": "a", "pacing": {"jitter": 1.1}}, ".pacing.jitter: expected a number from 0 to 1"),
    ({"text": "a", "pacing": {"jitter": "0"}}, ".pacing.jitter: expected a number from 0 to 1"),
    (
        {"text": "a", "pacing": {"words_per_second": -1}},
        ".pacing.words_per_second: expected a number from 0 up",
    ),
    (
        {"text": "a", "pacing": {"words_per_chunk": 0}},
        ".pacing.words_per_chunk: expected a whole number from 1 to 2147483647",
    ),
    (
        {"text": "a", "pacing": {"words_per_second": 1, "chunk_ms": 1}},
        ".pacing.chunk_ms: cannot stand beside words_per_second",
    ),
    ({"raw": {"status": 199}}, ".raw.status: expected an HTTP status from 200 to 599"),
    ({"raw": {"status": 600}}, ".raw.status: expected an HTTP status from 200 to 599"),
    ({"raw": {"status": 204, "body": "a"}}, ".raw.body: an answer of status 204 has no body"),
    ({"raw": {"status": 304, "body": {}}}, ".raw.body: an answer of status 304 has no body"),
    (
        {"raw": {"headers": {"a": "b\nc: d"}}},
        ".raw.headers.a: expected printable latin-1 without spaces around it",
    ),
    (
        {"raw": {"headers": {"": "a"}}},
        '.raw.headers[""]: this is not the name of a header',
    ),
]


@pytest.mark.parametrize(("produce", "line"), PRODUCE)
def test_a_wrong_answer_is_told_the_place(produce: Any, line: str) -> None:
    (told,) = lines(one_step(produce=produce))
    assert told.startswith(f"steps[0].produce{line}")


PARTS: list[tuple[Any, str]] = [
    ({}, ": expected exactly one of text, reasoning, tool_call, refusal"),
    ({"signature": "s"}, ": expected exactly one of text, reasoning, tool_call, refusal"),
    (
        {"text": "a", "refusal": "b"},
        ": expected exactly one of text, reasoning, tool_call, refusal",
    ),
    (
        {"text": "a", "redacted": "b"},
        ": expected exactly one of text, reasoning, tool_call, refusal",
    ),
    ({"text": "a", "signature": "s"}, ".signature: belongs to reasoning"),
    ({"refusal": "a", "redacted": False}, ".redacted: belongs to reasoning"),
    (
        {"redacted": True},
        ".reasoning: expected the encrypted form, since redacted is true",
    ),
    ({"tool_call": {}}, ".tool_call.name: missing"),
]


@pytest.mark.parametrize(("part", "line"), PARTS)
def test_a_wrong_part_is_told_the_place(part: Any, line: str) -> None:
    assert lines(one_step(produce={"parts": [part]})) == [f"steps[0].produce.parts[0]{line}"]


CHUNKS: list[tuple[list[Any], str]] = [
    ([5], "[0]: expected a string or an object"),
    ([{}], "[0]: expected exactly one of text, reasoning, tool_call, refusal"),
    (
        [{"tool_call": {"arguments": "a"}}],
        "[0].tool_call.index: missing: a piece without a name goes on with a call",
    ),
    (
        [{"tool_call": {"index": 0, "arguments": "a"}}],
        "[0].tool_call.name: missing: this is the first piece of call 0",
    ),
    (
        [{"tool_call": {"name": "f"}}, {"tool_call": {"index": 1, "arguments": "a"}}],
        "[1].tool_call.name: missing: this is the first piece of call 1",
    ),
    (
        [{"tool_call": {"name": "f"}}, {"tool_call": {"name": "g", "index": 0}}],
        "[1].tool_call.index: expected 1: a piece with a name begins a call",
    ),
    (
        [{"tool_call": {"name": "f"}}, {"tool_call": {"index": 0, "id": "c", "arguments": ""}}],
        "[1].tool_call.id: belongs to the first piece of a call",
    ),
    (
        [{"tool_call": {"name": "f"}}, {"tool_call": {"index": 0, "arguments": {}}}],
        "[1].tool_call.arguments: expected a string: a piece of the arguments' text",
    ),
]


@pytest.mark.parametrize(("chunks", "line"), CHUNKS)
def test_wrong_chunks_are_told_the_place(chunks: list[Any], line: str) -> None:
    assert lines(one_step(produce={"chunks": chunks})) == [f"steps[0].produce.chunks{line}"]


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({}, ".kind: missing"),
    ({"kind": "boom"}, f".kind: expected one of {KINDS}"),
    ({"kind": "http"}, ".status: missing"),
    ({"kind": "http", "status": 204}, ".status: an error has a body, and 204 and 304 have none"),
    (
        {"kind": "http", "status": 500, "body": "a", "code": "b"},
        ".code: belongs to the envelope, which body replaces",
    ),
    (
        {"kind": "rate_limit", "status": 503},
        ".status: does not belong to a fault of kind rate_limit",
    ),
    ({"kind": "timeout", "code": "a"}, ".code: does not belong to a fault of kind timeout"),
    (
        {"kind": "model_error", "hold_ms": 5},
        ".hold_ms: does not belong to a fault of kind model_error",
    ),
    (
        {"kind": "timeout", "hold_ms": 600_001},
        ".hold_ms: expected at most 600000 milliseconds",
    ),
    (
        {"kind": "timeout", "after_chunks": 3},
        ".after_chunks: does not belong to a fault of kind timeout",
    ),
    (
        {"kind": "rate_limit", "headers": {"connection": "close"}},
        ".headers.connection: this header is the connection's own",
    ),
]


@pytest.mark.parametrize(("fault", "line"), FAULTS)
@pytest.mark.parametrize(
    ("place", "step"),
    [
        ("produce.fault", lambda fault: {"produce": {"fault": fault}}),
        ("failures.fault", lambda fault: {"failures": {"times": 1, "fault": fault}}),
    ],
)
def test_a_wrong_fault_is_told_the_place(
    place: str, step: Any, fault: dict[str, Any], line: str
) -> None:
    assert lines(one_step(**step(fault))) == [f"steps[0].{place}{line}"]


def test_a_fault_that_stands_alone_has_no_answer_beside_it() -> None:
    produce = {
        "text": "a",
        "usage": {"input_tokens": 1},
        "finish_reason": "stop",
        "fault": {"kind": "timeout"},
    }
    assert lines(one_step(produce=produce)) == [
        f"steps[0].produce.{key}: a fault of kind timeout stands alone, without answer"
        for key in ("text", "finish_reason", "usage")
    ]


def test_a_fault_inside_an_answer_needs_one() -> None:
    assert lines(one_step(produce={"fault": {"kind": "stall"}})) == [
        "steps[0].produce.fault: a fault of kind stall needs an answer that it strikes in"
    ]
    step = {"failures": {"times": 1, "fault": {"kind": "stall"}}}
    assert lines(one_step(**step, produce={"fault": {"kind": "timeout"}})) == [
        "steps[0].failures.fault.kind: stall strikes inside an answer, and this step has none"
    ]


def test_a_key_that_is_read_later_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_base, "NOT_YET", {"StepDocument": frozenset({"script"})})
    assert lines({"name": "a", "steps": [{"script": "x", "mtch": {}}], "tagz": []}) == [
        "steps[0].script: not supported yet",
        'tagz: unknown key, did you mean "tags"?',
    ]


def test_a_step_must_produce() -> None:
    assert lines({"name": "a", "steps": [{"match": {}}]}) == ["steps[0].produce: missing"]


def test_steps_chosen_by_turn_have_turns_and_nothing_else_to_choose_by() -> None:
    steps = [
        {"turn": 1, "produce": {"text": "a"}},
        {"turn": 1, "produce": {"text": "b"}},
        {"produce": {"text": "c"}},
        {"turn": 2, "match": {"stream": True}, "produce": {"text": "d"}},
        {"turn": 3, "consume": True, "produce": {"text": "e"}},
    ]
    assert lines({"name": "a", "select": "first_user_message", "steps": steps}) == [
        "steps[1].turn: another step has turn 1",
        "steps[2].turn: missing: select first_user_message chooses by turn",
        "steps[3].match: has no place beside select first_user_message",
        "steps[4].consume: has no place beside select first_user_message",
    ]


TEMPLATES: list[tuple[dict[str, Any], str]] = [
    ({"text": "{{ cty }}"}, ".text: unknown name in {{ cty }}"),
    ({"text": "{{ city.name }}"}, ".text: unknown name in {{ city.name }}"),
    ({"text": "{{ match.team }}"}, ".text: unknown name in {{ match.team }}"),
    ({"text": "{{ request.body }}"}, ".text: unknown name in {{ request.body }}"),
    ({"reasoning": "{{ x }}"}, ".reasoning: unknown name in {{ x }}"),
    (
        {"reasoning": [{"text": "{{ x }}", "signature": "{{ y }}"}]},
        ".reasoning[0].text: unknown name in {{ x }}",
    ),
    ({"refusal": "{{ x }}"}, ".refusal: unknown name in {{ x }}"),
    ({"tool_calls": [{"name": "{{ x }}"}]}, ".tool_calls[0].name: unknown name in {{ x }}"),
    (
        {"tool_calls": [{"name": "f", "arguments": {"a": [{"{{ x }}": 1}]}}]},
        ".tool_calls[0].arguments: unknown name in {{ x }}",
    ),
    ({"parts": [{"text": "{{ x }}"}]}, ".parts[0].text: unknown name in {{ x }}"),
    (
        {"parts": [{"tool_call": {"name": "f", "arguments": "{{ x }}"}}]},
        ".parts[0].tool_call.arguments: unknown name in {{ x }}",
    ),
    ({"chunks": ["a", "{{ x }}"]}, ".chunks[1]: unknown name in {{ x }}"),
    ({"choices": [{"text": "{{ x }}"}]}, ".choices[0].text: unknown name in {{ x }}"),
    ({"streaming": {"text": "{{ x }}"}}, ".streaming.text: unknown name in {{ x }}"),
    ({"chunks": ["{{ ci", "ty }}"]}, ".chunks: {{ city }} is torn apart by the end of a chunk"),
    (
        {"non_streaming": {"chunks": ["{{ city", " }}"]}},
        ".non_streaming.chunks: {{ city }} is torn apart by the end of a chunk",
    ),
    (
        {
            "chunks": [
                {"tool_call": {"name": "f", "arguments": "{{ "}},
                {"tool_call": {"index": 0, "arguments": "city }}"}},
            ]
        },
        ".chunks: {{ city }} is torn apart by the end of a chunk",
    ),
]


@pytest.mark.parametrize(("produce", "line"), TEMPLATES)
def test_an_unknown_name_in_a_template_is_told_the_place(
    produce: dict[str, Any], line: str
) -> None:
    document = one_step(produce=produce) | {"variables": {"city": "Paris"}}
    assert lines(document) == [f"steps[0].produce{line}"]


def test_names_of_templates_are_variables_their_keys_the_request_and_named_groups() -> None:
    document = one_step(
        match={"messages": [{"role": "user", "regex": "in (?P<city>.+)"}]},
        produce={
            "text": "{{ user.name }} {{ match.city }} {{ request.turn }} {{ not a name }}",
        },
    )
    assert load_documents(document | {"variables": {"user": {"name": "Ann"}}})


def test_raw_answers_and_ids_are_no_templates() -> None:
    assert load_documents(one_step(produce={"raw": {"body": "{{ x }}"}}))
    call = {"id": "{{ x }}", "name": "f"}
    assert load_documents(one_step(produce={"tool_calls": [call]}))


@pytest.mark.parametrize(
    "produce",
    [
        {"text": "é" * 1_048_577},
        {"raw": {"body": "a" * 2_097_153}},
        {"choices": [{"text": "a" * 1_048_577}] * 2},
        {"tool_calls": [{"name": "f", "arguments": "a" * 2_097_153}]},
        {"streaming": {"text": "a"}, "non_streaming": {"text": "a" * 2_097_153}},
    ],
)
def test_an_answer_has_a_most_to_say(produce: dict[str, Any]) -> None:
    (line,) = lines(one_step(produce=produce))
    assert line.startswith("steps[0].produce: holds 209715")
    assert line.endswith(" bytes of text, expected at most 2097152")


def test_an_error_made_by_hand_is_its_own_only_problem() -> None:
    error = DocumentError("steps[0]", "wrong")
    assert error.problems == (Problem("steps[0]", "wrong"),)
    assert (error.place, error.message, str(error)) == ("steps[0]", "wrong", "steps[0]: wrong")


def test_a_problem_in_a_file_begins_with_the_file() -> None:
    assert str(Problem("steps[0]", "wrong", "a.json")) == "a.json: steps[0]: wrong"
    assert str(Problem("", "wrong", "a.json")) == "a.json: wrong"


def test_places_read_as_their_authors_write_them() -> None:
    loc = ("steps", 2, "match", "headers", "x-team", "a b", 0, "ü", "k" * 100)
    assert place_of(loc) == ('steps[2].match.headers.x-team["a b"][0]["ü"]["' + "k" * 78 + "…]")


def test_a_quoted_value_is_valid_text_of_bounded_length() -> None:
    assert quoted({"a": "ü"}) == '{"a": "ü"}'
    assert quoted("\ud800") == '"\\ud800"'
    assert len(quoted("a" * 1000)) == 80
