"""OpenAI's clients over a WebSocket: plain connections, and sessions with lanes."""

import asyncio
from typing import Any

import openai
import pytest
from openai.lib.responses_websocket import (
    AsyncResponsesWebSocketSession,
    ResponsesWebSocketError,
    ResponsesWebSocketLimits,
    ResponsesWebSocketSession,
)

from tests.sdk.client_factories import strict_options
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

# The client uses a deprecated function of its WebSocket package.
pytestmark = pytest.mark.filterwarnings("ignore:connect:DeprecationWarning")
FINAL_TYPES = ("response.completed", "response.failed", "error")
LIMITS = ResponsesWebSocketLimits(
    max_lanes=8,
    max_events_per_lane=500,
    max_events=2_000,
    max_bytes_per_lane=1 << 24,
    max_bytes=1 << 25,
)
CALL = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}
TOOL: Any = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}


def load(live: Live) -> None:
    live.load(
        scenario(
            "socket",
            text_step("Sunny.", match={"tool_results": [{"contains": "24"}]}),
            {
                "consume": False,
                "match": {"messages": [{"role": "user", "contains": "weather"}]},
                "produce": {"tool_calls": [CALL]},
            },
            text_step("Again.", match={"messages": [{"role": "assistant", "contains": "Hi"}]}),
            {
                "consume": False,
                "match": {"messages": ["limit"]},
                "produce": {"fault": {"kind": "rate_limit"}},
            },
            text_step("Hi there.", match={"messages": ["Hello"]}),
        )
    )


def ask(connection: Any, **fields: Any) -> Any:
    """Send a request over a plain connection; return its last event."""
    connection.response.create(model="gpt-4o", **fields)
    return next(event for event in connection if event.type in FINAL_TYPES)


async def ask_async(connection: Any, **fields: Any) -> Any:
    await connection.response.create(model="gpt-4o", **fields)
    async for event in connection:
        if event.type in FINAL_TYPES:
            return event


def test_connection_continues_a_response_that_is_not_stored(live: Live) -> None:
    load(live)
    with openai.OpenAI(**strict_options(live, live.openai_base_url)) as client:
        with client.responses.connect() as connection:
            first = ask(connection, input="Hello", store=False).response
            assert first.output_text == "Hi there."
            again = ask(connection, input="And?", previous_response_id=first.id, store=False)
            assert again.response.output_text == "Again."
            error = ask(connection, input="limit", stream_id="lane")
            assert (error.status, error.error.code) == (429, "rate_limit_exceeded")
            assert (error.stream_id, error.error.headers["retry-after"]) == ("lane", "1")
        with client.responses.connect() as connection:
            lost = ask(connection, input="And?", previous_response_id=first.id)
            assert lost.error.code == "previous_response_not_found"
    assert [entry.status for entry in live.requests()] == [200, 200, 429, 400]


def test_async_connection_gets_typed_events(live: Live) -> None:
    load(live)

    async def run() -> Any:
        async with (
            openai.AsyncOpenAI(**strict_options(live, live.openai_base_url)) as client,
            client.responses.connect() as connection,
        ):
            return await ask_async(connection, input="Hello")

    assert asyncio.run(run()).response.output_text == "Hi there."


def test_session_runs_lanes_and_tools(live: Live) -> None:
    load(live)
    with (
        openai.OpenAI(**strict_options(live, live.openai_base_url)) as client,
        client.responses.connect() as connection,
        ResponsesWebSocketSession(connection, limits=LIMITS) as session,
    ):
        first, second = session.lane("first"), session.lane("second")
        create: dict[str, Any] = {"type": "response.create", "model": "gpt-4o", "store": False}
        first.send({**create, "input": "How is the weather?", "tools": [TOOL]})
        second.send({**create, "input": "Hello"})
        tool_response = first.get_final_response(timeout=20)
        assert second.get_final_response(timeout=20).output_text == "Hi there."
        (call,) = tool_response.output
        assert call.type == "function_call"
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "24"}
        first.send({**create, "previous_response_id": tool_response.id, "input": [result]})
        assert first.get_final_response(timeout=20).output_text == "Sunny."


def test_async_session_raises_the_error_of_a_lane(live: Live) -> None:
    load(live)

    async def run() -> str:
        async with (
            openai.AsyncOpenAI(**strict_options(live, live.openai_base_url)) as client,
            client.responses.connect() as connection,
            AsyncResponsesWebSocketSession(connection, limits=LIMITS) as session,
        ):
            lane = session.lane("lane")
            create: Any = {"type": "response.create", "model": "gpt-4o"}
            await lane.send({**create, "input": "limit"})
            with pytest.raises(ResponsesWebSocketError) as error:
                await lane.get_final_response()
            assert error.value.event.error.code == "rate_limit_exceeded"
            await lane.send({**create, "input": "Hello"})
            text: str = (await lane.get_final_response()).output_text
            return text

    assert asyncio.run(run()) == "Hi there."


def test_connection_below_the_prefix_of_azure_is_answered(live: Live) -> None:
    load(live)
    options = strict_options(live, f"{live.base_url}/openai/v1")
    with (
        openai.OpenAI(**options) as client,
        client.responses.connect() as connection,
    ):
        assert ask(connection, input="Hello").response.output_text == "Hi there."
    assert live.requests()[0].path == "/openai/v1/responses"
