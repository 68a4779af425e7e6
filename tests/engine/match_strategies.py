"""Hypothesis strategies for requests and scenarios that often match each other."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest, Json, Role
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.scenario import Scenario
from tests.engine.match_builders import (
    CHAT,
    build_match,
    chat_request,
    message_condition,
    scenario,
    step,
    text_message,
    tool_call_condition,
    tool_call_message,
    tool_result_condition,
    tool_result_message,
)

# Words that contain each other, differ in case, or have unusual case folding.
MATCHING_WORDS = st.sampled_from(
    ["a", "A", "b", "ab", "aab", "abab", "Straße", "STRASSE", "ß", "K", "k", "\u212a", "é", "É"]
)
LITERALS = st.one_of(
    st.just(""), MATCHING_WORDS, st.lists(MATCHING_WORDS, max_size=3).map(" ".join)
)
TEXTS = st.lists(MATCHING_WORDS, max_size=5).map(" ".join)
PATTERNS = st.sampled_from(
    ["", "a", "^a", "a$", "ab+", "a|b", "[ab]+", ".", "^$", r"\bab\b", "straße", "(?i)k", "é",
     "(?P<first>a+)b", "(?P<first>k)|(?P<second>ab)", r"\w+ \w+", r"\bé", r"\W\S", r"\d|\s",
     "(?s)^a.*b$", "zz"]
)  # fmt: skip
CONDITIONS = st.builds(
    TextCondition,
    equals=st.none() | LITERALS,
    contains=st.none() | LITERALS,
    startswith=st.none() | LITERALS,
    regex=st.none() | PATTERNS,
    ignore_case=st.booleans(),
)
SINGLE_CONDITIONS = st.one_of(
    *(
        st.builds(TextCondition, **{name: values, "ignore_case": st.booleans()})
        for name, values in (
            ("equals", LITERALS),
            ("contains", LITERALS),
            ("startswith", LITERALS),
            ("regex", PATTERNS),
        )
    )
)
ROLES: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant", "tool"])
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 1) | st.sampled_from(["a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=5,
)
_NAMES = st.sampled_from(["a", "b"])


def _tuples_of(values: st.SearchStrategy[Any], size: int = 1) -> st.SearchStrategy[Any]:
    return st.lists(values, max_size=size).map(tuple)


def _equal_to_either(*values: str) -> st.SearchStrategy[TextCondition]:
    return st.builds(TextCondition, equals=st.sampled_from(values)) | SINGLE_CONDITIONS


MATCHES = st.builds(
    build_match,
    provider=_tuples_of(_equal_to_either("openai", "anthropic")),
    path=_tuples_of(_equal_to_either(CHAT, "/v1/messages")),
    model=_tuples_of(_equal_to_either("a", "b"), 2),
    stream=st.none() | st.booleans(),
    messages=_tuples_of(
        st.builds(
            message_condition,
            text=SINGLE_CONDITIONS | CONDITIONS,
            role=st.none() | ROLES,
            which=st.sampled_from(["last", "first", "any", 0, 1]),
        ),
        2,
    ),
    tools=_tuples_of(_NAMES),
    tool_calls=_tuples_of(st.builds(tool_call_condition, name=st.none() | _NAMES, arguments=JSON)),
    tool_results=_tuples_of(
        st.builds(
            tool_result_condition,
            text=CONDITIONS,
            tool_call_id=st.none() | _NAMES,
            name=st.none() | _NAMES,
            is_error=st.none() | st.booleans(),
        )
    ),
    headers=_tuples_of(st.tuples(st.sampled_from(["X-A", "x-b"]), SINGLE_CONDITIONS)),
    metadata=_tuples_of(st.tuples(_NAMES, SINGLE_CONDITIONS)),
)
# Most steps have one condition, so that most requests match some of many steps.
SIMPLE_MATCHES = st.one_of(
    st.builds(build_match, provider=_tuples_of(_equal_to_either("openai", "anthropic"))),
    st.builds(build_match, model=_tuples_of(_equal_to_either("a", "b"), 2)),
    SINGLE_CONDITIONS.map(
        lambda text: build_match(messages=(message_condition(text, role="user"),))
    ),
    SINGLE_CONDITIONS.map(
        lambda text: build_match(messages=(message_condition(text, which="any"),))
    ),
    SINGLE_CONDITIONS.map(lambda text: build_match(headers=(("X-A", text),))),
    st.just(build_match()),
)


@st.composite
def scenarios(draw: st.DrawFn) -> list[Scenario]:
    """Draw scenarios with both kinds of selection, and with equal names and priorities."""
    drawn_scenarios = []
    for number in range(draw(st.integers(0, 5))):
        matches = draw(st.lists(SIMPLE_MATCHES | MATCHES, max_size=6))
        select = draw(st.sampled_from(["match", "match", "match", "first_user_message"]))
        turns = (
            range(1, len(matches) + 1)
            if select == "first_user_message"
            else draw(st.lists(st.none() | st.integers(1, 2), min_size=6, max_size=6))
        )
        consume_flags = draw(st.lists(st.booleans(), min_size=6, max_size=6))
        steps = tuple(
            step(match if select == "match" else None, f"{number}.{i}", turn=turn, consume=consume)
            for i, (match, turn, consume) in enumerate(
                zip(matches, turns, consume_flags, strict=False)
            )
        )
        name, priority = f"s{number}", draw(st.integers(-1, 1))
        drawn_scenarios.append(scenario(name, *steps, priority=priority, select=select))
    return drawn_scenarios


MESSAGES = st.one_of(
    st.builds(text_message, ROLES.filter(lambda role: role != "tool"), TEXTS),
    st.builds(
        tool_call_message, _NAMES, JSON.map(str) | st.sampled_from(['{"a": 1}', '{"a": [true]}'])
    ),
    st.builds(tool_result_message, TEXTS, _NAMES, _NAMES, st.booleans()),
)
_STRING_MAPS: st.SearchStrategy[Mapping[str, str]] = st.dictionaries(_NAMES, TEXTS)


@st.composite
def requests(draw: st.DrawFn) -> CanonicalRequest:
    return chat_request(
        *draw(st.lists(MESSAGES, max_size=4)),
        tools=draw(st.lists(_NAMES, max_size=2)),
        provider=draw(st.sampled_from(["openai", "anthropic"])),
        model=draw(_NAMES | TEXTS),
        stream=draw(st.booleans()),
        headers={f"x-{name}": text for name, text in draw(_STRING_MAPS).items()},
        metadata=draw(_STRING_MAPS),
    )
