"""Hypothesis strategies for valid scenario documents."""

from typing import Any

from hypothesis import strategies as st

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="{}"), max_size=12)
TEMPLATES = st.sampled_from(["{{ city }}", "{{ request.turn }} and {{ who.name }}", "{{", "{}"])
TEXT_OR_TEMPLATE = TEXT | TEMPLATES
NONEMPTY_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
NAME = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12)
WHOLE_NUMBER = st.integers(0, 600_000)
FRACTION = st.floats(0, 1) | st.sampled_from([0, 1])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
HEADERS = st.dictionaries(
    st.sampled_from(["x-a", "X-B", "retry-after"]), st.text("a é;=", max_size=9).map(str.strip)
)


def fixed_dict(needed: dict[str, Any], **optional: st.SearchStrategy[Any]) -> Any:
    """Return a strategy for objects with the needed keys and any of the optional ones."""
    return st.fixed_dictionaries(needed, optional=optional)


TEXT_TESTS = {
    "equals": TEXT,
    "contains": NONEMPTY_TEXT,
    "startswith": NONEMPTY_TEXT,
    "regex": st.sampled_from(["^a", "(?i)b+", "[0-9]{2}$"]),
}
OBJECT_CONDITION = fixed_dict({}, **TEXT_TESTS, ignore_case=st.booleans()).filter(
    TEXT_TESTS.keys().__and__
)
CONDITION = TEXT | OBJECT_CONDITION
ALTERNATIVES = CONDITION | st.lists(CONDITION, min_size=1, max_size=3)
MATCH = fixed_dict(
    {},
    provider=ALTERNATIVES,
    path=ALTERNATIVES,
    model=ALTERNATIVES,
    stream=st.none() | st.booleans(),
    messages=st.lists(
        CONDITION
        | fixed_dict(
            {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
            **TEXT_TESTS,
            which=st.sampled_from(["last", "first", "any", 0, 3]),
        ),
        max_size=3,
    ),
    tools=st.lists(NONEMPTY_TEXT, max_size=3),
    tool_calls=st.lists(
        fixed_dict({}, name=NONEMPTY_TEXT, arguments=st.dictionaries(TEXT, JSON, max_size=2)),
        max_size=2,
    ),
    tool_results=st.lists(
        CONDITION
        | fixed_dict(
            {}, **TEXT_TESTS, tool_call_id=NONEMPTY_TEXT, name=NONEMPTY_TEXT, is_error=st.booleans()
        ),
        max_size=2,
    ),
    headers=st.dictionaries(st.sampled_from(["x-a", "x-b"]), CONDITION),
    metadata=st.dictionaries(TEXT, CONDITION, max_size=2),
)
REASONING = fixed_dict(
    {"text": NONEMPTY_TEXT}, signature=TEXT, redacted=st.none() | st.booleans() | NONEMPTY_TEXT
)
CALL = fixed_dict({"name": NAME}, id=NAME, arguments=JSON)
CHUNK_PART = st.one_of(
    fixed_dict({"text": TEXT_OR_TEMPLATE}),
    fixed_dict({"reasoning": NONEMPTY_TEXT}, signature=TEXT, redacted=st.booleans()),
    fixed_dict({"tool_call": CALL}),
    fixed_dict({"refusal": TEXT_OR_TEMPLATE}),
)
ANSWER_JSON = JSON.filter(lambda value: value is not None)
CITATION = st.one_of(
    fixed_dict({"url": NONEMPTY_TEXT}, title=TEXT, quote=TEXT),
    fixed_dict(
        {"document": NONEMPTY_TEXT}, quote=TEXT, document_index=WHOLE_NUMBER, chars=st.just([0, 9])
    ),
    fixed_dict({"document": NONEMPTY_TEXT}, file_id=NONEMPTY_TEXT, pages=st.just([1, 2])),
)
HOSTED_TOOL = st.one_of(
    fixed_dict(
        {"tool": st.just("web_search")}, id=NAME, input=st.dictionaries(TEXT, JSON), result=JSON
    ),
    fixed_dict({"tool": st.just("web_fetch"), "error": NONEMPTY_TEXT}),
    fixed_dict(
        {"tool": st.just("mcp"), "server": NONEMPTY_TEXT, "name": NONEMPTY_TEXT}, result=JSON
    ),
)
PART = (
    CHUNK_PART
    | fixed_dict({"json": ANSWER_JSON})
    | fixed_dict({"text": TEXT_OR_TEMPLATE, "citations": st.lists(CITATION, max_size=2)})
    | fixed_dict({"hosted_tool": HOSTED_TOOL})
)
FINISH_FIELDS = {
    "finish_reason": st.sampled_from([None, "stop", "length", "tool_calls", "content_filter"]),
}
LIST_FIELDS = {
    "reasoning": TEXT | st.lists(REASONING, max_size=2),
    "tool_calls": st.lists(CALL, max_size=2),
    "final_report": fixed_dict(
        {"report_content": TEXT_OR_TEMPLATE},
        status=TEXT,
        report_format=TEXT_OR_TEMPLATE,
        content_json=JSON,
        messages=JSON,
    ),
    "refusal": TEXT_OR_TEMPLATE,
}
CONTENT = fixed_dict({"text": TEXT_OR_TEMPLATE}, **LIST_FIELDS, **FINISH_FIELDS) | fixed_dict(
    {"parts": st.lists(PART, min_size=1, max_size=3)}, **FINISH_FIELDS
)
EXTRA_FIELDS = {
    "usage": fixed_dict(
        {},
        input_tokens=WHOLE_NUMBER,
        output_tokens=WHOLE_NUMBER,
        cached_tokens=WHOLE_NUMBER,
        cache_read_tokens=WHOLE_NUMBER,
        cache_write_tokens=WHOLE_NUMBER,
        total_tokens=WHOLE_NUMBER,
    ),
    "provider_metadata": st.dictionaries(
        st.sampled_from(["openai", "any"]), st.dictionaries(TEXT, JSON, max_size=2)
    ),
}
ANSWERS = st.one_of(
    fixed_dict({"text": TEXT_OR_TEMPLATE}, **LIST_FIELDS, **FINISH_FIELDS, **EXTRA_FIELDS),
    fixed_dict({"json": ANSWER_JSON}, **LIST_FIELDS, **FINISH_FIELDS, **EXTRA_FIELDS),
    fixed_dict({"parts": st.lists(PART, min_size=1, max_size=3)}, **FINISH_FIELDS, **EXTRA_FIELDS),
    fixed_dict({"choices": st.lists(CONTENT, min_size=1, max_size=2)}, **EXTRA_FIELDS),
    fixed_dict(
        {"chunks": st.lists(TEXT | CHUNK_PART, min_size=1, max_size=4)},
        **FINISH_FIELDS,
        **EXTRA_FIELDS,
    ),
    fixed_dict({"raw": fixed_dict({}, status=st.integers(305, 599), headers=HEADERS, body=JSON)}),
)
ERROR_FIELDS = {"message": TEXT, "type": TEXT, "code": TEXT, "param": TEXT}
RETRY_FIELDS = {"headers": HEADERS, "retry_after_ms": WHOLE_NUMBER, "retryable": st.booleans()}
STANDALONE_FAULTS = st.one_of(
    fixed_dict(
        {"kind": st.just("http"), "status": st.integers(400, 599)}, **ERROR_FIELDS, **RETRY_FIELDS
    ),
    fixed_dict({"kind": st.just("http"), "status": st.integers(400, 599)}, body=JSON.filter(bool)),
    fixed_dict(
        {"kind": st.sampled_from(["rate_limit", "rate_limited", "overloaded", "model_error"])},
        **ERROR_FIELDS,
        **RETRY_FIELDS,
    ),
    fixed_dict({"kind": st.just("timeout")}, hold_ms=WHOLE_NUMBER, message=TEXT),
    fixed_dict({"kind": st.sampled_from(["network_error", "invalid_response"])}),
)
STREAM_FAULTS = st.one_of(
    fixed_dict(
        {"kind": st.sampled_from(["disconnect", "truncate", "malformed_chunk"])},
        after_chunks=st.integers(0, 9),
    ),
    fixed_dict({"kind": st.just("stall")}, after_chunks=st.integers(0, 9), hold_ms=WHOLE_NUMBER),
    fixed_dict({"kind": st.just("error_event")}, after_chunks=st.integers(0, 9), **ERROR_FIELDS),
)
PACING = fixed_dict(
    {},
    first_ms=WHOLE_NUMBER,
    words_per_second=FRACTION,
    words_per_chunk=st.integers(1, 9),
    jitter=FRACTION,
) | fixed_dict({}, chunk_ms=WHOLE_NUMBER, jitter=FRACTION)


@st.composite
def produce_objects(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the `produce` object of a step, in each of its forms."""
    answer: dict[str, Any] = draw(fixed_dict({}, latency_ms=WHOLE_NUMBER, pacing=PACING))
    match draw(st.sampled_from(["answer", "inside", "alone", "both", "streaming", "whole"])):
        case "answer":
            answer |= draw(ANSWERS)
        case "inside":
            answer |= draw(ANSWERS) | {"fault": draw(STREAM_FAULTS)}
        case "alone":
            answer |= {"fault": draw(STANDALONE_FAULTS)}
        case "both":
            answer |= {"streaming": draw(ANSWERS), "non_streaming": draw(ANSWERS)}
        case "streaming":
            answer |= {"streaming": draw(ANSWERS)}
        case _:
            answer |= {"non_streaming": draw(ANSWERS)}
    return answer


STEP = fixed_dict(
    {"produce": produce_objects()},
    name=NAME,
    turn=st.none() | st.integers(1, 9),
    consume=st.booleans(),
    match=MATCH,
    expect=fixed_dict(
        {},
        tools=st.lists(NONEMPTY_TEXT, max_size=2),
        allow_missing_tools=st.booleans(),
        temperature=FRACTION,
        top_p=FRACTION,
        reasoning=st.sampled_from(["enabled", "disabled"]),
    ),
    failures=fixed_dict({"times": st.integers(1, 9)}, fault=STANDALONE_FAULTS),
    side_effects=fixed_dict(
        {},
        counter=NAME,
        status=st.integers(400, 599),
        headers=HEADERS,
        echo_headers=st.lists(st.sampled_from(["x-a", "x-b"])),
        **{"assert": st.lists(MATCH, max_size=2)},
    ),
)
AGENT_CONDITION = fixed_dict(
    {},
    say=CONDITION,
    not_say=CONDITION,
    call=fixed_dict({}, name=NONEMPTY_TEXT, arguments=st.dictionaries(TEXT, JSON, max_size=2)),
    not_call=fixed_dict({"name": NONEMPTY_TEXT}),
).filter(bool)
MUST = st.lists(AGENT_CONDITION, max_size=2)
USER = fixed_dict(
    {
        "turns": st.lists(
            fixed_dict(
                {"say": NONEMPTY_TEXT, "when": AGENT_CONDITION},
                must=MUST,
                end=st.booleans(),
                repeat=st.booleans(),
            )
            | fixed_dict({"say": NONEMPTY_TEXT}, must=MUST),
            max_size=3,
        ).map(lambda turns: [*turns, {"say": "Bye."}])
    },
    must=MUST,
    max_turns=st.integers(1, 9),
)
SCENARIOS = fixed_dict(
    {
        "name": NAME,
        "variables": st.just({"city": "Paris", "who": {"name": "Ann"}}),
    },
    version=st.just(1),
    description=TEXT,
    priority=st.integers(-9, 9),
    enabled=st.booleans(),
    select=st.just("match"),
    tags=st.lists(NAME, max_size=2),
    system_prompt_must_include=st.lists(NONEMPTY_TEXT, max_size=2),
    steps=st.lists(STEP, max_size=3),
    user=USER,
)
"""Valid scenario documents."""
