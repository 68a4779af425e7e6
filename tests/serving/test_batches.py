"""Batches through the official client: their requests are answered as if each had come alone."""

import json

import anthropic
import httpx2
import openai
import pytest
from anthropic.types.messages.batch_create_params import Request

from scenarios_app.serving.transport import MockTransport
from tests.serving.pipelines import KEY, Playing, says, scenario


def client_of(playing: Playing) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        base_url="http://mock",
        api_key=KEY,
        http_client=httpx2.AsyncClient(transport=MockTransport(playing.running)),
        max_retries=0,
    )


def openai_of(playing: Playing) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url="http://mock/v1",
        api_key=KEY,
        http_client=httpx2.AsyncClient(transport=MockTransport(playing.running)),
        max_retries=0,
    )


def asks(*texts: str) -> list[Request]:
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
    """By custom id: the text of a message, the type of an error, or what became of it."""
    found = {}
    async for each in await client.messages.batches.results(batch):
        match each.result.type:
            case "succeeded":
                part = each.result.message.content[0]
                assert part.type == "text"
                found[each.custom_id] = part.text
            case "errored":
                found[each.custom_id] = each.result.error.error.type
            case other:
                found[each.custom_id] = other
    return found


async def test_a_batch_takes_steps_in_order_and_each_once() -> None:
    once = [{"produce": {"text": text}} for text in ("one", "two")]
    limited = {"produce": {"fault": {"kind": "rate_limit"}}, "consume": False}
    playing = Playing(scenario("s", *once, limited))
    async with client_of(playing) as client:
        made = await client.messages.batches.create(requests=asks("a", "b", "c"))
        assert made.processing_status == "in_progress" and made.request_counts.processing == 3
        ended = await client.messages.batches.retrieve(made.id)
        assert ended.processing_status == "ended"
        assert (ended.request_counts.succeeded, ended.request_counts.errored) == (2, 1)
        assert await results_of(client, made.id) == {
            "r0": "one",
            "r1": "two",
            "r2": "rate_limit_error",
        }
        with pytest.raises(anthropic.RateLimitError):
            await client.messages.create(**asks("d")[0]["params"])


async def test_each_request_of_a_batch_is_in_the_journal() -> None:
    playing = Playing(scenario("s", says("Hi!")))
    async with client_of(playing) as client:
        await client.messages.batches.create(requests=asks("a", "b"))
    assert [(entry.path, entry.status) for entry in playing.journal] == [
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
    late = {**says("late"), "match": {"messages": [{"contains": "late"}]}}
    late["produce"] = {"text": "late", "pacing": {"first_ms": 600_000}}
    playing = Playing(scenario("s", silent, late, cut, select="match"))
    async with client_of(playing) as client:
        made = await client.messages.batches.create(requests=asks("wait", "late", "else"))
        assert await results_of(client, made.id) == {
            "r0": "api_error",
            "r1": "late",
            "r2": "api_error",
        }


async def test_batches_are_told_to_their_own_session_alone() -> None:
    playing = Playing(scenario("s", says("Hi!")))
    async with client_of(playing) as client:
        made = [await client.messages.batches.create(requests=asks("a")) for _ in range(3)]
        listed = await client.messages.batches.list(limit=2)
        assert [batch.id async for batch in listed] == [batch.id for batch in reversed(made)]
        other = client.with_options(api_key="sk-other")
        assert [batch.id async for batch in await other.messages.batches.list()] == []
        with pytest.raises(anthropic.NotFoundError):
            await other.messages.batches.retrieve(made[0].id)


async def test_a_cancelled_batch_ends_with_nothing_answered_and_can_be_deleted() -> None:
    playing = Playing(scenario("s", says("Hi!")))
    async with client_of(playing) as client:
        made = await client.messages.batches.create(requests=asks("a", "b"))
        assert (await client.messages.batches.cancel(made.id)).processing_status == "canceling"
        assert await results_of(client, made.id) == {"r0": "canceled", "r1": "canceled"}
        assert (await client.messages.batches.delete(made.id)).id == made.id
        with pytest.raises(anthropic.NotFoundError):
            await client.messages.batches.retrieve(made.id)


async def test_a_file_of_requests_becomes_a_file_of_answers() -> None:
    once = [{"produce": {"text": text}} for text in ("one", "two")]
    playing = Playing(scenario("s", *once))
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
    async with openai_of(playing) as client:
        uploaded = await client.files.create(file=("in.jsonl", data), purpose="batch")
        batch = await client.batches.create(
            input_file_id=uploaded.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        assert batch.status == "validating"
        done = await client.batches.retrieve(batch.id)
        assert done.status == "completed" and done.output_file_id and done.error_file_id
        output = (await client.files.content(done.output_file_id)).text
        answers = [json.loads(line) for line in output.splitlines()]
        said = {
            each["custom_id"]: each["response"]["body"]["choices"][0]["message"]["content"]
            for each in answers
        }
        assert said == {"a": "one", "b": "two"}
        (failed,) = (await client.files.content(done.error_file_id)).text.splitlines()
        assert json.loads(failed)["response"]["status_code"] == 404
        listed = [each.id async for each in await client.files.list(purpose="batch_output")]
        assert sorted(listed) == sorted((done.output_file_id, done.error_file_id))
        assert [each.id async for each in await client.batches.list()] == [batch.id]
