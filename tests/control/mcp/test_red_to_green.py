"""An agent takes a failing program to a green verdict by tools alone."""

import re
from collections.abc import Iterator

import openai
import pytest

from scenarios_app.testing.server import RunningServer, running_server
from tests.control.mcp.agent import Agent, ask, http_agent, pipe_agent

pytestmark = pytest.mark.usefixtures("forked_processes")
TEXT = "Tell me about the weather in Seattle"


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


async def go_from_red_to_green(agent: Agent, base_url: str) -> None:
    with pytest.raises(openai.NotFoundError):
        ask(base_url, TEXT)
    verdict = await agent.call("verdict", session="sk-agent")
    assert not verdict["passed"] and len(verdict["unmatched"]) == 1
    (request,) = (await agent.call("unmatched"))["requests"]
    step = await agent.call("make_step", request=request["id"], text="It rains.")
    assert step["answers"] and step["scenario"] == "weather in Seattle"
    assert await agent.call("check") == {
        "valid": True,
        "problems": [],
        "warnings": [],
        "left_out": 0,
    }
    await agent.call("reset", session="sk-agent")
    assert ask(base_url, TEXT) == "It rains."
    verdict = await agent.call("verdict", session="sk-agent", scenarios="weather in Seattle")
    assert verdict["passed"] and verdict["requests"] == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_agent_over_http_reaches_a_green_verdict(server: RunningServer, mode: str) -> None:
    async with http_agent(server.base_url, mode=mode) as agent:
        await go_from_red_to_green(agent, server.base_url)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_agent_through_pipes_reaches_a_green_verdict(
    server: RunningServer, mode: str
) -> None:
    async with pipe_agent("--url", server.base_url, mode=mode) as agent:
        await go_from_red_to_green(agent, server.base_url)


async def test_pipes_without_a_server_start_one_and_name_its_address() -> None:
    async with pipe_agent() as agent:
        match = re.search(r"OPENAI_BASE_URL=(http://127\.0\.0\.1:\d+)/v1", instructions_of(agent))
        assert match is not None
        await go_from_red_to_green(agent, match[1])


def instructions_of(agent: Agent) -> str:
    assert agent.client.instructions is not None
    return agent.client.instructions


async def test_step_of_a_session_answers_that_session_only(server: RunningServer) -> None:
    async with http_agent(server.base_url) as agent:
        with pytest.raises(openai.NotFoundError):
            ask(server.base_url, TEXT)
        (request,) = (await agent.call("unmatched", session="sk-agent"))["requests"]
        created_step = await agent.call(
            "make_step", request=request["id"], text="It rains.", session="sk-agent"
        )
        assert created_step["answers"]
        assert ask(server.base_url, TEXT) == "It rains."
        with pytest.raises(openai.NotFoundError):
            ask(server.base_url, TEXT, key="sk-other")
        assert (await agent.call("list_scenarios"))["scenarios"] == []
        (line,) = (await agent.call("list_scenarios", session="sk-agent"))["scenarios"]
        assert line["name"] == created_step["scenario"]


async def test_second_step_is_added_to_the_named_scenario(server: RunningServer) -> None:
    async with http_agent(server.base_url) as agent:
        for text in (TEXT, "Which train goes to Portland tonight?"):
            with pytest.raises(openai.NotFoundError):
                ask(server.base_url, text)
        for number, request in enumerate((await agent.call("unmatched"))["requests"], 1):
            created_step = await agent.call(
                "make_step", request=request["id"], text=f"Answer {number}.", scenario="travel"
            )
            assert (created_step["scenario"], created_step["step"], created_step["answers"]) == (
                "travel",
                number,
                True,
            )
        assert ask(server.base_url, TEXT) == "Answer 1."
        page = await agent.call("read_scenario", name="travel")
        assert page["steps"] == 2 and page["next_step"] is None


async def test_near_step_is_corrected_after_explain_names_the_condition(
    server: RunningServer,
) -> None:
    step = {"match": {"messages": [{"role": "user", "equals": "weather"}]}, "consume": False}
    document = {"name": "weather", "steps": [{**step, "produce": {"text": "It rains."}}]}
    async with http_agent(server.base_url) as agent:
        await agent.call("add_scenario", document=document)
        with pytest.raises(openai.NotFoundError):
            ask(server.base_url, TEXT)
        (request,) = (await agent.call("unmatched"))["requests"]
        (mismatch,) = request["near_misses"][0]["mismatches"]
        explanation = await agent.call("explain", request=request["id"])
        assert explanation["winner"] is None
        (condition,) = explanation["steps"][0]["conditions"]
        assert condition["field"] == mismatch["field"]
        document["steps"][0]["match"]["messages"][0] = {"role": "user", "contains": "weather"}
        await agent.call("change_scenario", name="weather", document=document)
        assert (await agent.call("explain", request=request["id"]))["winner"]["step"] == "1"
        assert (await agent.call("play", scenario="weather"))["passed"]
        assert ask(server.base_url, TEXT) == "It rains."
