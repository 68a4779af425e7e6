"""Requests and scenarios in which they often meet, as Hypothesis draws them."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest, Json, Role
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.scenario import Scenario
from tests.engine.asking import (
    CHAT,
    ask,
    called,
    message,
    result,
    say,
    scenario,
    step,
    tool_call,
    tool_result,
    when,
)

# Words that contain each other, differ in case, or have unusual case folding.
WORDS = st.sampled_from(
    ["a", "A", "b", "ab", "aab", "abab", "Straße", "STRASSE", "ß", "K", "k", "\u212a", "é", "É"]
)
LITERALS = st.one_of(st.just(""), WORDS, st.lists(WORDS, max_size=3).map(" ".join))
TEXTS = st.lists(WORDS, max_size=5).map(" ".join)
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


def _tuples(values: st.SearchStrategy[Any], size: int = 1) -> st.SearchStrategy[Any]:
    return st.lists(values, max_size=size).map(tuple)


def _either(*values: str) -> st.SearchStrategy[TextCondition]:
    return st.builds(TextCondition, equals=st.sampled_from(values)) | SINGLE_CONDITIONS


MATCHES = st.builds(
    when,
    provider=_tuples(_either("openai", "anthropic")),
    path=_tuples(_either(CHAT, "/v1/messages")),
    model=_tuples(_either("a", "b"), 2),
    stream=st.none() | st.booleans(),
    messages=_tuples(
        st.builds(
            message,
            text=SINGLE_CONDITIONS | CONDITIONS,
            role=st.none() | ROLES,
            which=st.sampled_from(["last", "first", "any", 0, 1]),
        ),
        2,
    ),
    tools=_tuples(_NAMES),
    tool_calls=_tuples(st.builds(tool_call, name=st.none() | _NAMES, arguments=JSON)),
    tool_results=_tuples(
        st.builds(
            tool_result,
            text=CONDITIONS,
            tool_call_id=st.none() | _NAMES,
            name=st.none() | _NAMES,
            is_error=st.none() | st.booleans(),
        )
    ),
    headers=_tuples(st.tuples(st.sampled_from(["X-A", "x-b"]), SINGLE_CONDITIONS)),
    metadata=_tuples(st.tuples(_NAMES, SINGLE_CONDITIONS)),
)
# Most steps have one condition, so that most requests match some of many steps.
SIMPLE_MATCHES = st.one_of(
    st.builds(when, provider=_tuples(_either("openai", "anthropic"))),
    st.builds(when, model=_tuples(_either("a", "b"), 2)),
    SINGLE_CONDITIONS.map(lambda text: when(messages=(message(text, role="user"),))),
    SINGLE_CONDITIONS.map(lambda text: when(messages=(message(text, which="any"),))),
    SINGLE_CONDITIONS.map(lambda text: when(headers=(("X-A", text),))),
    st.just(when()),
)


@st.composite
def scenarios(draw: st.DrawFn) -> list[Scenario]:
    """Scenarios of both kinds with names and priorities that tie."""
    drawn = []
    for number in range(draw(st.integers(0, 5))):
        matches = draw(st.lists(SIMPLE_MATCHES | MATCHES, max_size=6))
        select = draw(st.sampled_from(["match", "match", "match", "first_user_message"]))
        turns = (
            range(1, len(matches) + 1)
            if select == "first_user_message"
            else draw(st.lists(st.none() | st.integers(1, 2), min_size=6, max_size=6))
        )
        consumed = draw(st.lists(st.booleans(), min_size=6, max_size=6))
        steps = tuple(
            step(match if select == "match" else None, f"{number}.{i}", turn=turn, consume=consume)
            for i, (match, turn, consume) in enumerate(zip(matches, turns, consumed, strict=False))
        )
        name, priority = f"s{number}", draw(st.integers(-1, 1))
        drawn.append(scenario(name, *steps, priority=priority, select=select))
    return drawn


MESSAGES = st.one_of(
    st.builds(say, ROLES.filter(lambda role: role != "tool"), TEXTS),
    st.builds(called, _NAMES, JSON.map(str) | st.sampled_from(['{"a": 1}', '{"a": [true]}'])),
    st.builds(result, TEXTS, _NAMES, _NAMES, st.booleans()),
)
_PAIRS: st.SearchStrategy[Mapping[str, str]] = st.dictionaries(_NAMES, TEXTS)


@st.composite
def requests(draw: st.DrawFn) -> CanonicalRequest:
    return ask(
        *draw(st.lists(MESSAGES, max_size=4)),
        tools=draw(st.lists(_NAMES, max_size=2)),
        provider=draw(st.sampled_from(["openai", "anthropic"])),
        model=draw(_NAMES | TEXTS),
        stream=draw(st.booleans()),
        headers={f"x-{name}": text for name, text in draw(_PAIRS).items()},
        metadata=draw(_PAIRS),
    )
