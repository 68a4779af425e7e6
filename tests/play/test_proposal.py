"""Proposed conversations pass, or come with the reason why they fail."""

import asyncio
from typing import Any

import pytest

from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.matching.index import build_index
from scenarios_app.play.conversation import examples, load_conversation
from scenarios_app.play.player import FixedCatalog, PlayedConversation, play
from scenarios_app.play.proposal import propose_conversation
from scenarios_app.serving.options import Options
from tests.play.runs import answering_steps

CALL = {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}
RESULT_ONLY = {"messages": [{"role": "tool", "which": "new"}]}


def propose(*documents: dict[str, Any]) -> tuple[dict[str, Any], str, PlayedConversation]:
    """Propose a conversation for the first scenario and play it against all of them."""
    loaded = load_documents({"scenarios": list(documents)})
    scenarios = [compile_scenario(document) for document in loaded]
    index = build_index(scenarios)
    proposal: Any
    proposal, reason = asyncio.run(
        propose_conversation(scenarios[0], index=index, options=Options())
    )
    run = play(load_conversation(proposal), catalog=FixedCatalog(index), options=Options())
    return proposal, reason, asyncio.run(run)


@pytest.mark.parametrize(
    "match",
    [
        {},
        {"messages": [{"role": "user", "contains": "sun"}]},
        {"messages": ["sun"]},
        {"messages": [{"role": "user", "startswith": "Is it ", "contains": "sunny"}]},
        {"messages": [{"role": "user", "regex": "(?i)^order (?P<number>\\d+)$"}]},
        {"messages": [{"role": "system", "contains": "brief"}], "model": "o3", "tools": ["look"]},
        {"provider": "anthropic", "stream": True},
        RESULT_ONLY,
        {"tool_results": [{"name": "get_weather", "contains": "sun"}], "provider": "gemini"},
        {"messages": [{"role": "user", "contains": "order"}, {"role": "tool", "contains": "x"}]},
    ],
)
def test_proposal_for_a_single_step_passes(match: dict[str, Any]) -> None:
    step = {"match": match, "produce": {"text": "Yes."}}
    proposal, reason, run = propose({"name": "s", "steps": [step]})
    assert reason == ""
    assert run.passed, proposal
    assert answering_steps(run) == {("s", "1")}


def test_proposal_calls_the_tool_before_a_step_that_wants_its_result() -> None:
    steps = [
        {"name": "answer", "consume": False, "match": RESULT_ONLY, "produce": {"text": "Sunny."}},
        {"name": "call", "consume": False, "turn": 1, "produce": CALL},
    ]
    proposal, reason, run = propose({"name": "s", "steps": steps})
    assert reason == ""
    assert [next(iter(turn)) for turn in proposal["turns"]] == ["user", "tool_results"]
    assert run.passed
    assert answering_steps(run) == {("s", "call"), ("s", "answer")}


def test_endless_tool_loop_is_proposed_with_six_turns() -> None:
    step = {"consume": False, "produce": CALL}
    proposal, reason, run = propose({"name": "s", "steps": [step]})
    assert (len(proposal["turns"]), reason, run.passed) == (6, "", True)


def test_scenario_selected_by_name_is_proposed_with_its_name() -> None:
    document = {
        "name": "s",
        "select": "first_user_message",
        "steps": [{"turn": 1, "produce": {"text": "x"}}],
    }
    proposal, reason, run = propose(document)
    assert (proposal["turns"], reason, run.passed) == ([{"user": "s"}], "", True)


@pytest.mark.parametrize("key", examples())
def test_proposal_for_each_example_passes(key: str) -> None:
    document = examples()[key].scenario.model_dump(by_alias=True, exclude_defaults=True)
    _, reason, run = propose(document)
    assert reason == ""
    assert run.passed


def test_proposal_names_the_unmet_condition_of_an_unplayable_scenario() -> None:
    step = {"match": {"headers": {"x-team": "red"}}, "produce": {"text": "Yes."}}
    proposal, reason, run = propose({"name": "s", "steps": [step]})
    assert proposal["turns"] == [{"user": "Hello"}]
    assert not run.passed
    assert reason.startswith("Answered by: expected a step, got no step, nearest: s, step 1 wanted")
    assert "x-team" in reason


def test_proposal_names_the_scenario_that_answers_first() -> None:
    shadow = {"name": "first", "priority": 1, "steps": [{"produce": {"text": "Mine."}}]}
    _, reason, _ = propose({"name": "s", "steps": [{"produce": {"text": "Yes."}}]}, shadow)
    assert reason == "The scenario first answers before s."
