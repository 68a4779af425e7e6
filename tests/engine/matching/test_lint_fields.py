"""The fields of each suspicion: step, place, message, and the step that causes it."""

from typing import Any

import pytest

from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.matching.lint import MAX_COMPARED_STEPS, Api, Suspicion, lint
from scenarios_app.engine.matching.near_misses import RULE_TEXTS
from tests.engine.matching.lint_helpers import ANSWER, CALL, hi_step, user_match

FIRST_TURN = {"turn": 1, "produce": ANSWER}
SELECT_BY_ID = {"select": "first_user_message"}
WEATHER_MATCH = user_match(contains="weather")
LOOP_MESSAGE = "endless loop: it calls get_weather again after its result"
BROAD_MESSAGE = (
    "it has no condition and is never used up: it answers all that no other offer of its priority "
    "does, and no scenario of a lower one answers any more"
)


def lint_documents(*documents: dict[str, Any], **names: Any) -> list[Suspicion]:
    loaded_documents = load_documents({"scenarios": list(documents)})
    return lint([compile_scenario(document) for document in loaded_documents], **names)


def scenario_document(name: str, *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": name, "steps": list(steps), **fields}


@pytest.mark.parametrize(
    ("document", "suspicion"),
    [
        (
            scenario_document("s", hi_step(WEATHER_MATCH), hi_step(WEATHER_MATCH)),
            (
                "shadowed",
                "s",
                2,
                "match",
                f"step 1 always answers first: {RULE_TEXTS['order']}",
                ("s", 1),
            ),
        ),
        (scenario_document("s", hi_step()), ("broad", "s", 1, "match", BROAD_MESSAGE)),
        (
            scenario_document("s", hi_step({"model": "m"}), hi_step(user_match(contains="a"))),
            ("broad", "s", 2, "match.messages[0]", '"a" is in nearly every message'),
        ),
        (
            scenario_document("s", hi_step({"model": "m"}), hi_step(WEATHER_MATCH, produce=CALL)),
            ("looping", "s", 2, "consume", LOOP_MESSAGE, None, None, ("get_weather",)),
        ),
        (
            scenario_document("s", FIRST_TURN, {"turn": 3, "produce": ANSWER}, **SELECT_BY_ID),
            (
                *("unreachable", "s", 2, "turn"),
                "turn 3 comes after a turn 2 that is not scripted",
            ),
        ),
        (
            scenario_document("s", {"turn": 2, "produce": ANSWER}, **SELECT_BY_ID),
            (
                *("unreachable", "s", 1, "turn"),
                "turn 2 comes after a turn 1 that is not scripted",
            ),
        ),
        (
            scenario_document(
                "s", hi_step(WEATHER_MATCH), hi_step({"model": "m"}, produce={"text": " TODO "})
            ),
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
    assert lint_documents(document) == [Suspicion(*suspicion)]


def test_wider_step_of_a_lower_priority_shadows_nothing() -> None:
    wide = scenario_document("a", hi_step(WEATHER_MATCH), priority=-1)
    assert (
        lint_documents(
            wide, scenario_document("s", hi_step(user_match(contains="weather in Paris")))
        )
        == []
    )


def test_scenario_without_steps_is_reported_at_its_steps() -> None:
    (suspicion,) = lint_documents(scenario_document("s"))
    assert (suspicion.scenario, suspicion.step, suspicion.place) == ("s", 0, "steps")


def test_unknown_provider_is_reported_at_its_condition() -> None:
    match = {**WEATHER_MATCH, "provider": "opnai"}
    (suspicion,) = lint_documents(scenario_document("s", hi_step(match)), providers=("openai",))
    assert (suspicion.kind, suspicion.place) == ("unreachable", "match.provider")


CALLS = {"tool_calls": [{"name": name, "arguments": {}} for name in ("find", "ask")]}


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (
            scenario_document("s", hi_step({**WEATHER_MATCH, "tools": ["find", "ask"]})),
            "match.tools",
        ),
        (
            scenario_document("s", hi_step(WEATHER_MATCH, expect={"tools": ["find", "ask"]})),
            "expect.tools",
        ),
        (
            scenario_document("s", hi_step(WEATHER_MATCH, consume=True, produce=CALLS)),
            "produce.tool_calls",
        ),
        (
            scenario_document(
                "s", {**FIRST_TURN, "expect": {"tools": ["find", "ask"]}}, **SELECT_BY_ID
            ),
            "expect.tools",
        ),
        (
            scenario_document("s", {**FIRST_TURN, "produce": CALLS}, **SELECT_BY_ID),
            "produce.tool_calls",
        ),
    ],
)
def test_unoffered_tools_are_reported(document: dict[str, Any], place: str) -> None:
    assert lint_documents(document, offered={"get_weather"}) == [
        Suspicion("unoffered", "s", 1, place, "no request has offered ask, find")
    ]


def test_consumed_step_is_reported_as_unreachable_but_not_as_broad() -> None:
    broad_step = hi_step(user_match(contains="a"), consume=True)
    unreachable_step = hi_step({**WEATHER_MATCH, "provider": "opnai"}, consume=True)
    suspicions = lint_documents(
        scenario_document("s", broad_step, unreachable_step), providers=("openai",)
    )
    assert [(s.step, s.kind) for s in suspicions] == [(2, "unreachable")]


def test_steps_after_a_suspicious_one_are_checked() -> None:
    shadowed_steps = [hi_step(WEATHER_MATCH), hi_step(WEATHER_MATCH), hi_step(WEATHER_MATCH)]
    assert [
        s.step
        for s in lint_documents(scenario_document("s", *shadowed_steps))
        if s.kind == "shadowed"
    ] == [2, 3]
    placeholder_steps = [hi_step({"model": name}, produce={"text": "TODO"}) for name in ("a", "b")]
    assert [s.step for s in lint_documents(scenario_document("s", *placeholder_steps))] == [1, 2]
    looping_steps = [
        hi_step({"model": "m"}),
        *(hi_step(user_match(contains=text), produce=CALL) for text in ("ab", "cd")),
    ]
    assert [s.step for s in lint_documents(scenario_document("s", *looping_steps))] == [2, 3]


def test_steps_of_one_scenario_are_compared_beyond_the_limit() -> None:
    filler_steps = [
        hi_step({"model": f"m{number}"}, consume=True) for number in range(MAX_COMPARED_STEPS - 2)
    ]
    two_scenarios = [
        scenario_document("b", hi_step({"model": "x"})),
        scenario_document("c", hi_step({"model": "x"}), *filler_steps),
    ]
    assert [s.scenario for s in lint_documents(*two_scenarios)] == ["c"]
    third_scenario = scenario_document("d", hi_step({"model": "y"}), hi_step({"model": "y"}))
    assert [(s.scenario, s.step) for s in lint_documents(*two_scenarios, third_scenario)] == [
        ("d", 2)
    ]


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
    ("match", "unsent_features"),
    [
        ({}, []),
        ({"provider": "openai"}, []),
        ({"provider": "ollama"}, ["web search", "mcp", "mcp list tools", "citations"]),
        ({"path": "/v1/chat/completions"}, ["web search", "mcp", "mcp list tools"]),
        ({"path": "/v1/elsewhere"}, []),
    ],
)
def test_part_that_no_api_of_its_step_can_send_is_suspicious(
    match: dict[str, str], unsent_features: list[str]
) -> None:
    step = {"match": {**match, "model": "m"}, "produce": {"parts": PARTS}}
    (document,) = load_documents({"name": "s", "steps": [step]})
    suspicions = lint([compile_scenario(document)], apis=APIS)
    assert [(suspicion.kind, suspicion.place, suspicion.message) for suspicion in suspicions] == [
        ("unsent", "produce.parts", f"left out: no API of this step has {name}")
        for name in unsent_features
    ]
