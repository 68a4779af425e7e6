"""Batches over the official clients: each request is answered as if sent alone."""

import json

import anthropic
import httpx2
import openai
import pytest
from anthropic.types.messages.batch_create_params import Request

from scenarios_app.serving.transport import MockTransport
from tests.serving.pipelines import KEY, Harness, scenario, text_step


def anthropic_client(harness: Harness) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        base_url="http://mock",
        api_key=KEY,
        http_client=httpx2.AsyncClient(transport=MockTransport(harness.running)),
        max_retries=0,
    )


def openai_client(harness: Harness) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url="http://mock/v1",
        api_key=KEY,
        http_client=httpx2.AsyncClient(transport=MockTransport(harness.running)),
        max_retries=0,
    )


def batch_requests(*texts: str) -> list[Request]:
    return [
        {
            "custom_id": f"r{number}",
            "params": {
                "model": "claude-sonnet-5",
                "max_tokens": 64,
                "messages": [{"role": "user", "content": text}],
            },
        }
        for number, text in enumerate(texts)
    ]


async def results_of(client: anthropic.AsyncAnthropic, batch: str) -> dict[str, str]:
    """Return by custom id the text of a message, the type of an error or the type of the result."""
    results = {}
    async for each in await client.messages.batches.results(batch):
        match each.result.type:
            case "succeeded":
                part = each.result.message.content[0]
                assert part.type == "text"
                results[each.custom_id] = part.text
            case "errored":
                results[each.custom_id] = each.result.error.error.type
            case other:
                results[each.custom_id] = other
    return results


async def test_a_batch_takes_steps_in_order_and_each_once() -> None:
    once_steps = [{"produce": {"text": text}} for text in ("one", "two")]
    limited = {"produce": {"fault": {"kind": "rate_limit"}}, "consume": False}
    harness = Harness(scenario("s", *once_steps, limited))
    async with anthropic_client(harness) as client:
        batch = await client.messages.batches.create(requests=batch_requests("a", "b", "c"))
        assert batch.processing_status == "in_progress" and batch.request_counts.processing == 3
        retrieved = await client.messages.batches.retrieve(batch.id)
        assert retrieved.processing_status == "ended"
        assert (retrieved.request_counts.succeeded, retrieved.request_counts.errored) == (2, 1)
        assert await results_of(client, batch.id) == {
            "r0": "one",
            "r1": "two",
            "r2": "rate_limit_error",
        }
        with pytest.raises(anthropic.RateLimitError):
            await client.messages.create(**batch_requests("d")[0]["params"])


async def test_each_request_of_a_batch_is_in_the_journal() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    async with anthropic_client(harness) as client:
        await client.messages.batches.create(requests=batch_requests("a", "b"))
    assert [(entry.path, entry.status) for entry in harness.journal] == [
        ("/v1/messages", 200),
        ("/v1/messages", 200),
        ("/v1/messages/batches", 200),
    ]


async def test_connection_fault_is_an_error_in_a_batch() -> None:
    cut = {"produce": {"text": "Hi!", "fault": {"kind": "disconnect"}}, "consume": False}
    silent = {
        "produce": {"fault": {"kind": "timeout", "hold_ms": 600_000}},
        "consume": False,
        "match": {"messages": [{"contains": "wait"}]},
    }
    late = {**text_step("late"), "match": {"messages": [{"contains": "late"}]}}
    late["produce"] = {"text": "late", "pacing": {"first_ms": 600_000}}
    harness = Harness(scenario("s", silent, late, cut, select="match"))
    async with anthropic_client(harness) as client:
        batch = await client.messages.batches.create(
            requests=batch_requests("wait", "late", "else")
        )
        assert await results_of(client, batch.id) == {
            "r0": "api_error",
            "r1": "late",
            "r2": "api_error",
        }


async def test_batches_are_visible_only_in_their_own_session() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    async with anthropic_client(harness) as client:
        batches = [
            await client.messages.batches.create(requests=batch_requests("a")) for _ in range(3)
        ]
        page = await client.messages.batches.list(limit=2)
        assert [batch.id async for batch in page] == [batch.id for batch in reversed(batches)]
        other_client = client.with_options(api_key="sk-other")
        assert [batch.id async for batch in await other_client.messages.batches.list()] == []
        with pytest.raises(anthropic.NotFoundError):
            await other_client.messages.batches.retrieve(batches[0].id)


async def test_cancelled_batch_has_no_answers_and_can_be_deleted() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    async with anthropic_client(harness) as client:
        batch = await client.messages.batches.create(requests=batch_requests("a", "b"))
        assert (await client.messages.batches.cancel(batch.id)).processing_status == "canceling"
        assert await results_of(client, batch.id) == {"r0": "canceled", "r1": "canceled"}
        assert (await client.messages.batches.delete(batch.id)).id == batch.id
        with pytest.raises(anthropic.NotFoundError):
            await client.messages.batches.retrieve(batch.id)


async def test_a_file_of_requests_becomes_a_file_of_answers() -> None:
    once_steps = [{"produce": {"text": text}} for text in ("one", "two")]
    harness = Harness(scenario("s", *once_steps))
    lines = [
        {
            "custom_id": name,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": "gpt-4o", "messages": [{"role": "user", "content": name}]},
        }
        for name in ("a", "b", "c")
    ]
    data = b"\n".join(json.dumps(line).encode() for line in lines)
    async with openai_client(harness) as client:
        uploaded = await client.files.create(file=("in.jsonl", data), purpose="batch")
        batch = await client.batches.create(
            input_file_id=uploaded.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        assert batch.status == "validating"
        finished_batch = await client.batches.retrieve(batch.id)
        assert (
            finished_batch.status == "completed"
            and finished_batch.output_file_id
            and finished_batch.error_file_id
        )
        output = (await client.files.content(finished_batch.output_file_id)).text
        answers = [json.loads(line) for line in output.splitlines()]
        texts = {
            each["custom_id"]: each["response"]["body"]["choices"][0]["message"]["content"]
            for each in answers
        }
        assert texts == {"a": "one", "b": "two"}
        (error_line,) = (await client.files.content(finished_batch.error_file_id)).text.splitlines()
        assert json.loads(error_line)["response"]["status_code"] == 404
        file_ids = [each.id async for each in await client.files.list(purpose="batch_output")]
        assert sorted(file_ids) == sorted(
            (finished_batch.output_file_id, finished_batch.error_file_id)
        )
        assert [each.id async for each in await client.batches.list()] == [batch.id]
