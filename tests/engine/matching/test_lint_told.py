"""All that is told of a suspicion: its step, the place in it, its words, and what is in its way."""

from typing import Any

import pytest

from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.matching.lint import MAX_COMPARED_STEPS, Api, Suspicion, lint
from scenarios_app.engine.matching.near_misses import RULE_TEXTS
from tests.engine.matching.linted import ANSWER, CALL, one, user

FIRST = {"turn": 1, "produce": ANSWER}
BY_ID = {"select": "first_user_message"}
PARTICULAR = user(contains="weather")
AGAIN = "endless loop: it calls get_weather again after its result"
ANYTHING = (
    "it has no condition and is never used up: it answers all that no other offer of its priority "
    "does, and no scenario of a lower one answers any more"
)


def found(*documents: dict[str, Any], **known: Any) -> list[Suspicion]:
    loaded = load_documents({"scenarios": list(documents)})
    return lint([compile_scenario(document) for document in loaded], **known)


def of(name: str, *steps: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"name": name, "steps": list(steps), **others}


@pytest.mark.parametrize(
    ("document", "suspicion"),
    [
        (
            of("s", one(PARTICULAR), one(PARTICULAR)),
            (
                "shadowed",
                "s",
                2,
                "match",
                f"step 1 always answers first: {RULE_TEXTS['order']}",
                ("s", 1),
            ),
        ),
        (of("s", one()), ("broad", "s", 1, "match", ANYTHING)),
        (
            of("s", one({"model": "m"}), one(user(contains="a"))),
            ("broad", "s", 2, "match.messages[0]", '"a" is in nearly every message'),
        ),
        (
            of("s", one({"model": "m"}), one(PARTICULAR, produce=CALL)),
            ("looping", "s", 2, "consume", AGAIN, None, None, ("get_weather",)),
        ),
        (
            of("s", FIRST, {"turn": 3, "produce": ANSWER}, **BY_ID),
            (
                *("unreachable", "s", 2, "turn"),
                "turn 3 comes after a turn 2 that is not scripted",
            ),
        ),
        (
            of("s", {"turn": 2, "produce": ANSWER}, **BY_ID),
            (
                *("unreachable", "s", 1, "turn"),
                "turn 2 comes after a turn 1 that is not scripted",
            ),
        ),
        (
            of("s", one(PARTICULAR), one({"model": "m"}, produce={"text": " TODO "})),
            (
                *("placeholder", "s", 2, "produce.text"),
                "it answers with a placeholder: “TODO”",
            ),
        ),
    ],
)
def test_suspicion_as_text_names_scenario_and_step(
    document: dict[str, Any], suspicion: tuple[Any, ...]
) -> None:
    assert found(document) == [Suspicion(*suspicion)]


def test_wider_step_of_a_lower_priority_shadows_nothing() -> None:
    wide = of("a", one(PARTICULAR), priority=-1)
    assert found(wide, of("s", one(user(contains="weather in Paris")))) == []


def test_scenario_without_steps_is_reported_at_its_steps() -> None:
    (suspicion,) = found(of("s"))
    assert (suspicion.scenario, suspicion.step, suspicion.place) == ("s", 0, "steps")


def test_unknown_provider_is_reported_at_its_condition() -> None:
    match = {**PARTICULAR, "provider": "opnai"}
    (suspicion,) = found(of("s", one(match)), providers=("openai",))
    assert (suspicion.kind, suspicion.place) == ("unreachable", "match.provider")


CALLS = {"tool_calls": [{"name": name, "arguments": {}} for name in ("find", "ask")]}


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (of("s", one({**PARTICULAR, "tools": ["find", "ask"]})), "match.tools"),
        (of("s", one(PARTICULAR, expect={"tools": ["find", "ask"]})), "expect.tools"),
        (of("s", one(PARTICULAR, consume=True, produce=CALLS)), "produce.tool_calls"),
        (of("s", {**FIRST, "expect": {"tools": ["find", "ask"]}}, **BY_ID), "expect.tools"),
        (of("s", {**FIRST, "produce": CALLS}, **BY_ID), "produce.tool_calls"),
    ],
)
def test_unoffered_tools_are_reported(document: dict[str, Any], place: str) -> None:
    assert found(document, offered={"get_weather"}) == [
        Suspicion("unoffered", "s", 1, place, "no request has offered ask, find")
    ]


def test_of_a_step_that_is_used_up_all_is_told_but_that_it_is_broad() -> None:
    broad = one(user(contains="a"), consume=True)
    nowhere = one({**PARTICULAR, "provider": "opnai"}, consume=True)
    suspicions = found(of("s", broad, nowhere), providers=("openai",))
    assert [(s.step, s.kind) for s in suspicions] == [(2, "unreachable")]


def test_every_step_is_looked_at_after_one_that_is_suspicious() -> None:
    shadowed = [one(PARTICULAR), one(PARTICULAR), one(PARTICULAR)]
    assert [s.step for s in found(of("s", *shadowed)) if s.kind == "shadowed"] == [2, 3]
    unwritten = [one({"model": name}, produce={"text": "TODO"}) for name in ("a", "b")]
    assert [s.step for s in found(of("s", *unwritten))] == [1, 2]
    calls = [
        one({"model": "m"}),
        *(one(user(contains=text), produce=CALL) for text in ("ab", "cd")),
    ]
    assert [s.step for s in found(of("s", *calls))] == [2, 3]


def test_steps_of_one_scenario_are_compared_beyond_many() -> None:
    fill = [one({"model": f"m{number}"}, consume=True) for number in range(MAX_COMPARED_STEPS - 2)]
    of_two = [of("b", one({"model": "x"})), of("c", one({"model": "x"}), *fill)]
    assert [s.scenario for s in found(*of_two)] == ["c"]
    more = of("d", one({"model": "y"}), one({"model": "y"}))
    assert [(s.scenario, s.step) for s in found(*of_two, more)] == [("d", 2)]


APIS = (
    Api("openai", "/v1/responses", frozenset({"web_search", "mcp", "mcp_list_tools", "citations"})),
    Api("openai", "/v1/chat/completions", frozenset({"citations"})),
    Api("ollama", "/api/chat", frozenset()),
)
PARTS = [
    {"hosted_tool": {"tool": "web_search", "result": []}},
    {"hosted_tool": {"tool": "mcp", "server": "wiki", "name": "ask"}},
    {"hosted_tool": {"tool": "mcp_list_tools", "server": "wiki"}},
    {"text": "So.", "citations": [{"url": "u"}]},
]


@pytest.mark.parametrize(
    ("match", "unsent"),
    [
        ({}, []),
        ({"provider": "openai"}, []),
        ({"provider": "ollama"}, ["web search", "mcp", "mcp list tools", "citations"]),
        ({"path": "/v1/chat/completions"}, ["web search", "mcp", "mcp list tools"]),
        ({"path": "/v1/elsewhere"}, []),
    ],
)
def test_part_that_no_api_of_its_step_can_send_is_suspicious(
    match: dict[str, str], unsent: list[str]
) -> None:
    step = {"match": {**match, "model": "m"}, "produce": {"parts": PARTS}}
    (document,) = load_documents({"name": "s", "steps": [step]})
    found = lint([compile_scenario(document)], apis=APIS)
    assert [(one.kind, one.place, one.message) for one in found] == [
        ("unsent", "produce.parts", f"left out: no API of this step has {name}") for name in unsent
    ]
