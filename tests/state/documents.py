"""Hypothesis strategies for scenario documents with every key and unusual values."""

from typing import Any, TypeVar

from hypothesis import strategies as st

from scenarios_app.engine.document import DocumentError, ScenarioDocument, load_documents

T = TypeVar("T")

# Texts that columns, forms and databases often treat differently.
UNUSUAL_TEXTS = ["", " ", " a ", "a,b", "a\nb", "a\r\nb", "\0", "é€𝄞", "null", "0", "[]", "x" * 300]

texts = st.one_of(
    st.sampled_from(UNUSUAL_TEXTS),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}"), max_size=8),
)
some_texts = texts.filter(bool)
names = st.sampled_from(["a", "b c", "a,b", "größe", "n" * 200, "get_weather", "x-y"])
whole_numbers = st.sampled_from([0, 1, 7, 599, 32_768, 2_147_483_647])
positive_numbers = st.sampled_from([1, 2, 2_147_483_647])
numbers = st.sampled_from([0.0, 0.25, 1.0, 3.0, 1e-9])
fractions = st.sampled_from([0.0, 0.5, 1.0])
flags = st.booleans()
patterns = st.sampled_from(["^gpt", "a|b", r"(?P<word>\w+)", ","])
json_values = st.recursive(
    st.one_of(st.none(), flags, st.integers(-(2**70), 2**70), numbers, texts),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
headers = st.dictionaries(
    st.sampled_from(["x-a", "X-Team", "retry-after"]), st.sampled_from(["", "1", "a, b"])
)


def with_short_repr(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Return the strategy with a short name in error messages."""

    @st.composite
    def draw_value(draw: st.DrawFn) -> T:
        return draw(strategy)

    return draw_value()


def optional_dict(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for objects with any of these keys."""
    return with_short_repr(st.fixed_dictionaries({}, optional=keys))


tests_of_text = optional_dict(
    equals=texts, contains=some_texts, startswith=some_texts, regex=patterns, ignore_case=flags
)
conditions = texts | tests_of_text
single_tests = st.one_of(
    optional_dict(equals=texts),
    optional_dict(contains=some_texts),
    optional_dict(startswith=some_texts),
    optional_dict(regex=patterns),
).filter(bool)
alternatives = conditions | st.lists(conditions, min_size=1, max_size=2)
messages = texts | st.builds(
    lambda test, more: test | more,
    tests_of_text,
    optional_dict(
        role=st.sampled_from(["system", "user", "assistant", "tool"]),
        which=st.sampled_from(["last", "first", "any", 0, 3]),
    ),
)
# Forms with columns occur as often as all others together.
plain_messages = st.builds(
    lambda role, test, more: {"role": role, **test, **more},
    st.sampled_from(["system", "user", "tool", "assistant"]),
    single_tests,
    st.just({}) | st.just({"ignore_case": True}),
)
results = texts | st.builds(
    lambda test, more: test | more,
    tests_of_text,
    optional_dict(tool_call_id=some_texts, name=some_texts, is_error=flags),
)
matches = optional_dict(
    provider=alternatives,
    path=alternatives,
    model=single_tests | alternatives,
    stream=flags,
    messages=st.lists(plain_messages | messages, max_size=4),
    tools=st.lists(some_texts, max_size=2),
    tool_calls=st.lists(optional_dict(name=some_texts, arguments=st.just({"a": [1]})), max_size=1),
    tool_results=st.lists(st.builds(dict, name=some_texts) | results, max_size=3),
    headers=st.dictionaries(st.sampled_from(["x-team", "accept"]), conditions, max_size=1),
    metadata=st.dictionaries(texts, conditions, max_size=1),
)
error_fields = optional_dict(
    message=texts,
    type=texts,
    code=texts,
    headers=headers,
    retry_after_ms=whole_numbers,
    retryable=flags,
)
standalone_faults = st.one_of(
    st.builds(
        lambda e, s: {"kind": "http", "status": s, **e}, error_fields, st.sampled_from([400, 599])
    ),
    st.builds(lambda e: {"kind": "rate_limit", **e}, error_fields),
    st.builds(lambda ms: {"kind": "timeout", "hold_ms": ms}, st.sampled_from([0, 9, 30_000])),
    st.just({"kind": "http", "status": 418, "body": {"b": 1, "a": None}}),
)
stream_faults = st.one_of(
    st.builds(lambda e: {"kind": "error_event", **e}, error_fields),
    st.builds(lambda n: {"kind": "stall", "after_chunks": n, "hold_ms": n}, whole_numbers),
    st.just({"kind": "disconnect"}),
)
calls = st.builds(
    lambda name, more: {"name": name, **more},
    some_texts,
    optional_dict(id=some_texts, arguments=json_values),
)
reasoning_blocks = st.builds(
    lambda text, more: {"text": text, **more},
    some_texts,
    optional_dict(signature=texts, redacted=flags),
)
plain_answers = optional_dict(
    reasoning=some_texts | st.lists(reasoning_blocks, min_size=1, max_size=2),
    text=texts,
    tool_calls=st.lists(calls, max_size=2),
    final_report=st.builds(
        lambda content, more: {"report_content": content, **more},
        texts,
        optional_dict(
            status=texts, report_format=texts, content_json=json_values, messages=json_values
        ),
    ),
    refusal=texts,
    finish_reason=st.sampled_from(["stop", "length", "tool_calls"]),
    usage=optional_dict(
        input_tokens=whole_numbers,
        output_tokens=whole_numbers,
        reasoning_tokens=whole_numbers,
        total_tokens=whole_numbers,
    ),
    provider_metadata=st.just({"openai": {"z": 1, "a": 2}, "any": {"b": 3}}),
)
answers = st.one_of(
    plain_answers.filter(bool),
    plain_answers.filter(bool),
    st.just({"parts": [{"text": "a"}, {"tool_call": {"name": "f"}}]}),
    st.just({"chunks": ["a", {"text": "b"}]}),
    st.just({"choices": [{"text": "a"}, {"text": "b", "finish_reason": "stop"}]}),
    st.just({"raw": {"status": 299, "headers": {"x": "y"}, "body": "\x00"}}),
    st.just({"streaming": {"text": "a"}, "non_streaming": {"text": ""}}),
)
timing = optional_dict(
    latency_ms=st.sampled_from([0, 5, 600_000]),
    pacing=optional_dict(
        first_ms=whole_numbers,
        words_per_second=numbers,
        words_per_chunk=positive_numbers,
        jitter=fractions,
    ),
)
produces = st.one_of(
    st.builds(lambda a, t: a | t, answers, timing),
    st.builds(lambda a, f: a | {"fault": f}, answers, stream_faults),
    st.builds(lambda f: {"fault": f}, standalone_faults),
)
steps = st.builds(
    lambda produce, more: {"produce": produce, **more},
    produces,
    optional_dict(
        name=names,
        turn=positive_numbers,
        consume=flags,
        match=matches,
        expect=optional_dict(
            tools=st.lists(some_texts, max_size=2),
            allow_missing_tools=flags,
            temperature=numbers,
            top_p=numbers,
            reasoning=st.sampled_from(["enabled", "disabled"]),
        ),
        failures=st.builds(
            lambda n, f: {"times": n, **f}, positive_numbers, optional_dict(fault=standalone_faults)
        ),
        side_effects=optional_dict(
            counter=names,
            status=st.sampled_from([200, 418, 599]),
            headers=headers,
            echo_headers=st.lists(st.sampled_from(["x-a", "x-b"]), max_size=2, unique=True),
            **{"assert": st.lists(matches, max_size=2)},
        ),
    ),
)
scenarios = st.builds(
    lambda name, more, steps: {"name": name, **more, "steps": steps},
    names,
    optional_dict(
        description=texts,
        priority=st.integers(-5, 5) | st.just(-2_147_483_647),
        enabled=flags,
        tags=st.lists(names, max_size=2),
        variables=st.dictionaries(st.sampled_from(["city", "who"]), json_values, max_size=2),
        system_prompt_must_include=st.lists(some_texts, max_size=2),
    ),
    st.lists(steps, max_size=3),
)


def _load_or_none(data: dict[str, Any]) -> ScenarioDocument | None:
    try:
        (document,) = load_documents(data)
    except DocumentError:
        return None
    return document


documents = scenarios.map(_load_or_none).filter(lambda document: document is not None)
