"""Concurrent clients consume each step once and get each failure once."""

import asyncio
from collections import Counter
from typing import Any

import anthropic
import openai
import pytest

from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

CLIENTS = 200
STEPS = 50
HELLO: Any = [{"role": "user", "content": "Hello"}]


async def run_clients(live: Live, clients: int) -> list[str]:
    """Return the texts or error statuses that concurrent clients of both providers get in one
    session."""
    client_options: dict[str, Any] = {
        "api_key": live.key,
        "max_retries": 0,
        "default_headers": {"X-MockLLM-Session": live.session},
    }

    async def ask_openai(client: openai.AsyncOpenAI, stream: bool) -> str:
        try:
            if not stream:
                answer = await client.chat.completions.create(model="gpt-4o", messages=HELLO)
                return str(answer.choices[0].message.content)
            chunks = await client.chat.completions.create(
                model="gpt-4o", messages=HELLO, stream=True
            )
            return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks])
        except openai.APIStatusError as error:
            return str(error.status_code)

    async def ask_anthropic(client: anthropic.AsyncAnthropic) -> str:
        try:
            message = await client.messages.create(
                model="claude-sonnet-5-5", max_tokens=9, messages=HELLO
            )
        except anthropic.APIStatusError as error:
            return str(error.status_code)
        return message.content[0].text if message.content[0].type == "text" else ""

    async with (
        openai.AsyncOpenAI(base_url=live.openai_base_url, **client_options) as openai_client,
        anthropic.AsyncAnthropic(base_url=live.base_url, **client_options) as anthropic_client,
    ):
        return await asyncio.gather(
            *(
                ask_anthropic(anthropic_client)
                if i % 2
                else ask_openai(openai_client, stream=i % 4 == 0)
                for i in range(clients)
            )
        )


def test_each_step_is_served_to_one_client(live: Live) -> None:
    texts = [f"answer {i}" for i in range(STEPS)]
    live.load(scenario("few", *(text_step(text, consume=True) for text in texts)))
    answers = Counter(asyncio.run(run_clients(live, CLIENTS)))
    assert answers.pop("404") == CLIENTS - STEPS
    assert answers == Counter(texts)
    assert len(live.state().consumed) == STEPS
    rows = live.requests()
    assert Counter(row.status for row in rows) == {200: STEPS, 404: CLIENTS - STEPS}
    assert live.state().ordinal == CLIENTS


@pytest.mark.parametrize("times", [1, 7])
def test_a_step_fails_exactly_its_number_of_times(live: Live, times: int) -> None:
    fault = {"kind": "http", "status": 418}
    step = text_step("At last.", failures={"times": times, "fault": fault})
    live.load(scenario("fails", step))
    answers = Counter(asyncio.run(run_clients(live, 60)))
    # Attempts are counted for each provider.
    assert answers == {"418": 2 * times, "At last.": 60 - 2 * times}
    assert sorted(count for _, count in live.state().attempts) == [times, times]


def test_sessions_do_not_take_each_others_steps(live: Live) -> None:
    live.load(scenario("one", text_step("Mine.", consume=True)))

    async def ask(key: int) -> str | None:
        async with openai.AsyncOpenAI(
            base_url=live.openai_base_url, api_key=f"{live.key}-{key}", max_retries=0
        ) as client:
            answer = await client.chat.completions.create(model="gpt-4o", messages=HELLO)
            return answer.choices[0].message.content

    async def all_of_them() -> list[str | None]:
        return await asyncio.gather(*map(ask, range(20)))

    assert asyncio.run(all_of_them()) == ["Mine."] * 20
