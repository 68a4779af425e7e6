"""Hypothesis strategies for scenario documents that load."""

from typing import Any

from hypothesis import strategies as st

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="{}"), max_size=12)
FILLED = st.sampled_from(["{{ city }}", "{{ request.turn }} and {{ who.name }}", "{{", "{}"])
WRITTEN = TEXT | FILLED
SOME = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
NAME = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12)
WHOLE = st.integers(0, 600_000)
SHARE = st.floats(0, 1) | st.sampled_from([0, 1])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
HEADERS = st.dictionaries(
    st.sampled_from(["x-a", "X-B", "retry-after"]), st.text("a é;=", max_size=9).map(str.strip)
)


def maybe(needed: dict[str, Any], **optional: st.SearchStrategy[Any]) -> Any:
    """Objects with the keys that are needed and any of the others."""
    return st.fixed_dictionaries(needed, optional=optional)


TESTS = {
    "equals": TEXT,
    "contains": SOME,
    "startswith": SOME,
    "regex": st.sampled_from(["^a", "(?i)b+", "[0-9]{2}$"]),
}
OBJECT_CONDITION = maybe({}, **TESTS, ignore_case=st.booleans()).filter(TESTS.keys().__and__)
CONDITION = TEXT | OBJECT_CONDITION
ALTERNATIVES = CONDITION | st.lists(CONDITION, min_size=1, max_size=3)
MATCH = maybe(
    {},
    provider=ALTERNATIVES,
    path=ALTERNATIVES,
    model=ALTERNATIVES,
    stream=st.none() | st.booleans(),
    messages=st.lists(
        CONDITION
        | maybe(
            {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
            **TESTS,
            which=st.sampled_from(["last", "first", "any", 0, 3]),
        ),
        max_size=3,
    ),
    tools=st.lists(SOME, max_size=3),
    tool_calls=st.lists(
        maybe({}, name=SOME, arguments=st.dictionaries(TEXT, JSON, max_size=2)), max_size=2
    ),
    tool_results=st.lists(
        CONDITION | maybe({}, **TESTS, tool_call_id=SOME, name=SOME, is_error=st.booleans()),
        max_size=2,
    ),
    headers=st.dictionaries(st.sampled_from(["x-a", "x-b"]), CONDITION),
    metadata=st.dictionaries(TEXT, CONDITION, max_size=2),
)
REASONING = maybe({"text": SOME}, signature=TEXT, redacted=st.none() | st.booleans() | SOME)
CALL = maybe({"name": NAME}, id=NAME, arguments=JSON)
PIECE = st.one_of(
    maybe({"text": WRITTEN}),
    maybe({"reasoning": SOME}, signature=TEXT, redacted=st.booleans()),
    maybe({"tool_call": CALL}),
    maybe({"refusal": WRITTEN}),
)
ANSWER_JSON = JSON.filter(lambda value: value is not None)
CITATION = st.one_of(
    maybe({"url": SOME}, title=TEXT, quote=TEXT),
    maybe({"document": SOME}, quote=TEXT, document_index=WHOLE, chars=st.just([0, 9])),
    maybe({"document": SOME}, file_id=SOME, pages=st.just([1, 2])),
)
HOSTED_TOOL = st.one_of(
    maybe({"tool": st.just("web_search")}, id=NAME, input=st.dictionaries(TEXT, JSON), result=JSON),
    maybe({"tool": st.just("web_fetch"), "error": SOME}),
    maybe({"tool": st.just("mcp"), "server": SOME, "name": SOME}, result=JSON),
)
PART = (
    PIECE
    | maybe({"json": ANSWER_JSON})
    | maybe({"text": WRITTEN, "citations": st.lists(CITATION, max_size=2)})
    | maybe({"hosted_tool": HOSTED_TOOL})
)
END = {
    "finish_reason": st.sampled_from([None, "stop", "length", "tool_calls", "content_filter"]),
}
LISTED = {
    "reasoning": TEXT | st.lists(REASONING, max_size=2),
    "tool_calls": st.lists(CALL, max_size=2),
    "final_report": maybe(
        {"report_content": WRITTEN},
        status=TEXT,
        report_format=WRITTEN,
        content_json=JSON,
        messages=JSON,
    ),
    "refusal": WRITTEN,
}
CONTENT = maybe({"text": WRITTEN}, **LISTED, **END) | maybe(
    {"parts": st.lists(PART, min_size=1, max_size=3)}, **END
)
EXTRAS = {
    "usage": maybe(
        {},
        input_tokens=WHOLE,
        output_tokens=WHOLE,
        cached_tokens=WHOLE,
        cache_read_tokens=WHOLE,
        cache_write_tokens=WHOLE,
        total_tokens=WHOLE,
    ),
    "provider_metadata": st.dictionaries(
        st.sampled_from(["openai", "any"]), st.dictionaries(TEXT, JSON, max_size=2)
    ),
}
ANSWERS = st.one_of(
    maybe({"text": WRITTEN}, **LISTED, **END, **EXTRAS),
    maybe({"json": ANSWER_JSON}, **LISTED, **END, **EXTRAS),
    maybe({"parts": st.lists(PART, min_size=1, max_size=3)}, **END, **EXTRAS),
    maybe({"choices": st.lists(CONTENT, min_size=1, max_size=2)}, **EXTRAS),
    maybe({"chunks": st.lists(TEXT | PIECE, min_size=1, max_size=4)}, **END, **EXTRAS),
    maybe({"raw": maybe({}, status=st.integers(305, 599), headers=HEADERS, body=JSON)}),
)
ENVELOPE = {"message": TEXT, "type": TEXT, "code": TEXT, "param": TEXT}
RETRY = {"headers": HEADERS, "retry_after_ms": WHOLE, "retryable": st.booleans()}
ALONE = st.one_of(
    maybe({"kind": st.just("http"), "status": st.integers(400, 599)}, **ENVELOPE, **RETRY),
    maybe({"kind": st.just("http"), "status": st.integers(400, 599)}, body=JSON.filter(bool)),
    maybe(
        {"kind": st.sampled_from(["rate_limit", "rate_limited", "overloaded", "model_error"])},
        **ENVELOPE,
        **RETRY,
    ),
    maybe({"kind": st.just("timeout")}, hold_ms=WHOLE, message=TEXT),
    maybe({"kind": st.sampled_from(["network_error", "invalid_response"])}),
)
INSIDE = st.one_of(
    maybe(
        {"kind": st.sampled_from(["disconnect", "truncate", "malformed_chunk"])},
        after_chunks=st.integers(0, 9),
    ),
    maybe({"kind": st.just("stall")}, after_chunks=st.integers(0, 9), hold_ms=WHOLE),
    maybe({"kind": st.just("error_event")}, after_chunks=st.integers(0, 9), **ENVELOPE),
)
PACING = maybe(
    {},
    first_ms=WHOLE,
    words_per_second=SHARE,
    words_per_chunk=st.integers(1, 9),
    jitter=SHARE,
) | maybe({}, chunk_ms=WHOLE, jitter=SHARE)


@st.composite
def produced(draw: st.DrawFn) -> dict[str, Any]:
    """What a step answers with, in each of the ways there are."""
    answer: dict[str, Any] = draw(maybe({}, latency_ms=WHOLE, pacing=PACING))
    match draw(st.sampled_from(["answer", "inside", "alone", "both", "streaming", "whole"])):
        case "answer":
            answer |= draw(ANSWERS)
        case "inside":
            answer |= draw(ANSWERS) | {"fault": draw(INSIDE)}
        case "alone":
            answer |= {"fault": draw(ALONE)}
        case "both":
            answer |= {"streaming": draw(ANSWERS), "non_streaming": draw(ANSWERS)}
        case "streaming":
            answer |= {"streaming": draw(ANSWERS)}
        case _:
            answer |= {"non_streaming": draw(ANSWERS)}
    return answer


STEP = maybe(
    {"produce": produced()},
    name=NAME,
    turn=st.none() | st.integers(1, 9),
    consume=st.booleans(),
    match=MATCH,
    expect=maybe(
        {},
        tools=st.lists(SOME, max_size=2),
        allow_missing_tools=st.booleans(),
        temperature=SHARE,
        top_p=SHARE,
        reasoning=st.sampled_from(["enabled", "disabled"]),
    ),
    failures=maybe({"times": st.integers(1, 9)}, fault=ALONE),
    side_effects=maybe(
        {},
        counter=NAME,
        status=st.integers(400, 599),
        headers=HEADERS,
        echo_headers=st.lists(st.sampled_from(["x-a", "x-b"])),
        **{"assert": st.lists(MATCH, max_size=2)},
    ),
)
AGENT = maybe(
    {},
    say=CONDITION,
    not_say=CONDITION,
    call=maybe({}, name=SOME, arguments=st.dictionaries(TEXT, JSON, max_size=2)),
    not_call=maybe({"name": SOME}),
).filter(bool)
MUST = st.lists(AGENT, max_size=2)
USER = maybe(
    {
        "turns": st.lists(
            maybe({"say": SOME, "when": AGENT}, must=MUST, end=st.booleans(), repeat=st.booleans())
            | maybe({"say": SOME}, must=MUST),
            max_size=3,
        ).map(lambda turns: [*turns, {"say": "Bye."}])
    },
    must=MUST,
    max_turns=st.integers(1, 9),
)
SCENARIOS = maybe(
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
    system_prompt_must_include=st.lists(SOME, max_size=2),
    steps=st.lists(STEP, max_size=3),
    user=USER,
)
"""Documents that load."""
