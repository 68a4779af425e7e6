"""A compressed request gets a 415 that names the encoding, in its provider's envelope."""

import gzip
import json

import pytest
from msgspec.structs import replace

from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, claude, gemini, llama, responses, scenario
from tests.serving.pipelines import text_step as answer
from tests.serving.short_path.connection import Connection


def compressed(call: Call, encoding: str = "gzip") -> Call:
    headers = {**call.headers, "content-encoding": encoding}
    return replace(call, headers=headers, body=gzip.compress(call.body))


@pytest.mark.parametrize("call", [chat(), responses(), claude(), gemini(), llama()])
@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "deflate", "br", "zstd", "gzip, br"])
async def test_compressed_body_is_415_with_the_encoding(call: Call, encoding: str) -> None:
    harness = Harness(scenario("s", answer("Hi", consume=True)))
    status, headers, body = await harness.ask(compressed(call, encoding))
    assert status == 415 and f"Content-Encoding: {encoding}" in json.dumps(json.loads(body))
    assert headers["x-mockllm-scenario"] == ""
    assert (await harness.ask(call))[0] == 200


async def test_large_compressed_body_is_not_unpacked() -> None:
    """A bomb: a gigabyte of zeros in a megabyte."""
    bomb = replace(compressed(chat()), body=gzip.compress(bytes(10_000_000)) * 100)
    assert (await Harness().ask(bomb))[0] == 415


async def test_identity_is_no_compression() -> None:
    harness = Harness(scenario("s", answer("Hi")))
    call = chat(headers={"content-encoding": "identity"})
    assert (await harness.ask(call))[0] == 200


async def test_connection_of_plain_requests_refuses_compressed_ones() -> None:
    connection = Connection(Harness(scenario("s", answer("Hi"))))
    for _ in range(4):
        assert (await connection.ask(chat())).startswith(b"HTTP/1.1 200")
        assert (await connection.ask(compressed(chat()))).startswith(b"HTTP/1.1 415")
