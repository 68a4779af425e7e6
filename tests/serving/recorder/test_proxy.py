"""The upstream's response reaches the client unchanged and is recorded as it arrived."""

import asyncio
import gzip
import json
import time
from contextlib import aclosing

import pytest

from scenarios_app.recording import Interaction
from scenarios_app.serving.recorder.upstream import (
    Outgoing,
    UpstreamFailed,
    open_response,
    read_whole,
)
from scenarios_app.wire.base import Call
from tests.chat.raw_provider import raw_provider
from tests.serving.pipelines import chat, claude, scenario, text_step
from tests.serving.recorder.upstreams import (
    HEAD,
    JSON,
    KEY,
    REAL,
    RecordingHarness,
    chunk,
    gzip_response,
    response_bytes,
    run_recording,
)

STREAM = HEAD + b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
EVENTS = (b'data: {"a": 1}\n\n', b"data: [DONE]\n\n")


def recorded_interactions(harness: RecordingHarness) -> tuple[Interaction, ...]:
    return harness.recording.wait_for_result(seconds=0).interactions


async def test_whole_answer_is_forwarded_with_its_status_and_headers() -> None:
    answer = response_bytes(JSON, b"x-request-id: req_1", status=b"201 Created")
    async with run_recording(answer) as (upstream, harness):
        status, headers, body = await harness.ask(chat())
        upstream_headers = upstream.headers()
    assert (status, body, headers["x-request-id"]) == (201, JSON, "req_1")
    assert headers["content-length"] == str(len(JSON))
    assert upstream.heads[0].startswith("POST /v1/chat/completions HTTP/1.1")
    assert (
        upstream_headers["authorization"] == f"Bearer {KEY}"
        and upstream_headers["host"] == upstream.address
    )
    (interaction,) = recorded_interactions(harness)
    assert (interaction.response.status, interaction.response.body) == (201, JSON)
    assert (
        interaction.request.url == "/v1/chat/completions"
        and json.loads(interaction.request.body)["model"]
    )
    (entry,) = harness.journal
    assert (entry.outcome, entry.way, entry.matched, entry.status) == (
        "complete",
        "upstream",
        True,
        201,
    )
    assert b"".join(entry.response_body) == JSON


async def test_body_of_a_forwarded_answer_counts_in_the_memory_of_the_journal() -> None:
    async with run_recording(response_bytes()) as (_, harness):
        await harness.ask(chat())
    (entry,) = harness.journal
    assert entry.held_bytes == len(entry.request_body) + len(JSON)


async def test_stream_events_are_forwarded_as_they_arrive() -> None:
    """The client gets the first event while the upstream still holds the second back."""
    first = STREAM + chunk(EVENTS[0])
    async with run_recording(first, hold=True) as (upstream, harness):
        answer = await harness.pipeline.answer(chat(stream=True))
        async with aclosing(answer.pieces()) as pieces:
            assert await anext(pieces) == b""
            assert answer.reply.status == 200
            assert await anext(pieces) == EVENTS[0]
        # The client has left: the upstream's connection is closed too.
        await asyncio.wait_for(upstream.client_closed.wait(), 30)
    (interaction,) = recorded_interactions(harness)
    assert interaction.response.body == EVENTS[0] and not interaction.response.cut
    assert "client left" in interaction.notes[0]
    assert harness.journal[0].outcome == "client_gone"
    assert harness.pipeline.streams.taken == 0


async def test_each_recorded_chunk_has_its_time() -> None:
    async with run_recording(STREAM, *map(chunk, EVENTS), b"0\r\n\r\n") as (_, harness):
        _, headers, body = await harness.ask(chat(stream=True))
    assert body == b"".join(EVENTS) and headers["content-type"] == "text/event-stream"
    (interaction,) = recorded_interactions(harness)
    times = [at for at, _ in interaction.response.chunks]
    assert times == sorted(times) and times[0] > 0
    assert interaction.response.body == body and interaction.notes == ()
    assert harness.journal[0].streamed


async def test_cut_stream_is_forwarded_and_recorded_as_cut() -> None:
    async with run_recording(STREAM, chunk(EVENTS[0])) as (_, harness):
        answer = await harness.pipeline.answer(chat(stream=True))
        body = b"".join([piece async for piece in answer.pieces()])
    assert body == EVENTS[0]
    assert answer.reply.cut
    (interaction,) = recorded_interactions(harness)
    assert interaction.response.cut and interaction.response.body == EVENTS[0]


async def test_compressed_answer_is_forwarded_unchanged_and_recorded_decoded() -> None:
    async with run_recording(gzip_response()) as (upstream, harness):
        call = chat(headers={"accept-encoding": "br, gzip;q=0.5, deflate;q=0"})
        _, headers, body = await harness.ask(call)
        assert upstream.headers()["accept-encoding"] == "gzip"
    assert headers["content-encoding"] == "gzip" and gzip.decompress(body) == JSON
    (interaction,) = recorded_interactions(harness)
    assert interaction.response.body == JSON
    assert "content-encoding" not in dict(interaction.response.headers)


async def test_incomplete_compression_is_recorded_as_a_cut() -> None:
    """The content length is right, so only decoding shows the cut."""
    answer = response_bytes(gzip.compress(JSON)[:-5], b"content-encoding: gzip")
    async with run_recording(answer) as (_, harness):
        await harness.ask(chat(headers={"accept-encoding": "gzip"}))
    (interaction,) = recorded_interactions(harness)
    assert interaction.response.cut and JSON.startswith(interaction.response.body)
    assert "in the midst of its compression" in interaction.notes[0]


async def test_client_without_compression_gets_an_identity_body() -> None:
    async with run_recording(response_bytes()) as (upstream, harness):
        await harness.ask(chat())
        assert upstream.headers()["accept-encoding"] == "identity"


async def test_unreadable_body_is_forwarded_and_not_recorded() -> None:
    answer = response_bytes(b"\x1b\x03\x00", b"content-encoding: br")
    async with run_recording(answer) as (_, harness):
        status, _, body = await harness.ask(chat())
    assert (status, body) == (200, b"\x1b\x03\x00")
    result = harness.recording.wait_for_result(seconds=0)
    assert result.interactions == () and "compressed as br" in result.problems[0]


async def test_too_long_answer_is_recorded_up_to_its_limit_with_a_note() -> None:
    long = b"[" + b"1," * 500 + b"1]"
    async with run_recording(response_bytes(long), record_bytes=100) as (_, harness):
        _, _, body = await harness.ask(chat())
    assert body == long
    (interaction,) = recorded_interactions(harness)
    assert interaction.response.body == long[:100] and interaction.response.cut
    assert "longer than the 100 bytes" in interaction.notes[0]


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        (b"", 502, "ended the connection"),
        (b"nonsense\r\n\r\n", 502, "ended the connection"),
        (
            response_bytes(
                b"", b"location: https://elsewhere.example/v1?key=1", status=b"307 Moved"
            ),
            502,
            "answers 307 to 'https://elsewhere.example/v1'; redirects are not followed",
        ),
    ],
)
async def test_no_answer_is_one_error_in_the_providers_envelope(
    answer: bytes, status: int, reason: str
) -> None:
    async with run_recording(answer) as (upstream, harness):
        actual_status, headers, body = await harness.ask(claude())
        assert len(upstream.heads) == 1
    message = json.loads(body)["error"]["message"]
    assert actual_status == status and reason in message and upstream.address in message
    assert headers["x-should-retry"] == "false"
    result = harness.recording.wait_for_result(seconds=0)
    assert result.interactions == () and reason in result.problems[0]
    assert harness.journal[0].outcome == "fault"


async def test_unreachable_upstream_is_a_502() -> None:
    harness = RecordingHarness("127.0.0.1:1")
    status, _, body = await harness.ask(chat())
    assert status == 502
    assert json.loads(body)["error"]["code"] == "upstream_failed"
    assert "cannot be reached" in json.loads(body)["error"]["message"]


async def test_silent_upstream_is_a_504() -> None:
    async with run_recording(hold=True, upstream_seconds=0.05) as (_, harness):
        status, _, body = await harness.ask(chat())
    assert status == 504 and b"said nothing for 0.05 s" in body


async def test_upstream_that_stalls_is_a_cut() -> None:
    options = {"hold": True, "upstream_seconds": 0.05}
    async with run_recording(STREAM, chunk(EVENTS[0]), **options) as (_, harness):
        answer = await harness.pipeline.answer(chat(stream=True))
        body = b"".join([piece async for piece in answer.pieces()])
    assert body == EVENTS[0] and answer.reply.cut
    assert "fell silent" in recorded_interactions(harness)[0].notes[0]


@pytest.mark.parametrize("host", ["localtest.example", "internal.example"])
async def test_host_name_with_a_private_address_is_refused(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.1" if host.startswith("local") else "10.0.0.8",)

    monkeypatch.setattr("mockllm_site.kit.dial.resolve_host", resolve)
    harness = RecordingHarness(f"{host}:1")
    status, _, body = await harness.ask(chat())
    assert status == 502 and b"to which no calls may be sent" in body


async def test_request_that_a_step_answers_is_not_forwarded() -> None:
    document = scenario("s", text_step("Hi", match={"messages": [{"contains": "known"}]}))
    async with run_recording(response_bytes()) as (upstream, harness):
        harness = RecordingHarness(upstream.address, document)
        _, _, body = await harness.ask(chat("a known thing"))
        assert b"Hi" in body and upstream.heads == []
        await harness.ask(chat("another"))
        assert len(upstream.heads) == 1
    assert len(recorded_interactions(harness)) == 1


async def test_catch_all_does_not_answer_while_recording() -> None:
    catch_all = scenario("test-mode", text_step("lorem", match={}), priority=-1000)
    async with run_recording(response_bytes()) as (upstream, _):
        harness = RecordingHarness(upstream.address, catch_all)
        _, _, body = await harness.ask(chat())
    assert body == JSON


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models"),
        ("POST", "/v1/embeddings"),
        ("GET", "/v1/responses/resp_1"),
    ],
)
async def test_helper_endpoints_are_forwarded(method: str, path: str) -> None:
    body = b'{"model": "m", "input": "x"}' if method == "POST" else b""
    call = Call(method, path, {}, {"authorization": f"Bearer {KEY}"}, body)
    async with run_recording(response_bytes()) as (upstream, harness):
        status, _, response_body = await harness.ask(call)
        assert upstream.heads[0].startswith(f"{method} {path} ")
    assert (status, response_body) == (200, JSON)


@pytest.mark.parametrize(
    "path", ["/v1/vector_stores", "/v1/../admin/keys", "/v1/responses/..%2Fadmin"]
)
async def test_foreign_path_is_a_miss_and_reaches_no_upstream(path: str) -> None:
    call = Call("POST", path, {}, {"authorization": f"Bearer {KEY}"}, b"{}")
    async with run_recording(response_bytes(), keys={"openai": REAL}) as (upstream, harness):
        status, _, _ = await harness.ask(call)
        assert upstream.heads == []
    assert status in (404, 405)
    assert "is not forwarded" in harness.recording.problems[0]
    assert len(harness.recording.wait_for_result(seconds=0).missed) == 1


async def test_path_that_the_operator_lists_is_forwarded() -> None:
    call = Call("POST", "/v1/vector_stores", {}, {"authorization": f"Bearer {KEY}"}, b"x")
    async with run_recording(response_bytes(), upstream_paths=("/v1/vector_stores",)) as (
        upstream,
        harness,
    ):
        status, _, response_body = await harness.ask(call)
        assert upstream.heads[0].startswith("POST /v1/vector_stores ")
    assert (status, response_body) == (200, JSON)


async def test_compressed_body_that_ends_too_soon_is_not_read_as_whole() -> None:
    half = gzip.compress(JSON)[:-9]
    async with raw_provider(response_bytes(half, b"content-encoding: gzip")) as upstream:
        outgoing = Outgoing(
            "openai", "GET", f"http://{upstream.address}/v1/models", (), b"", "/v1/models"
        )
        async with open_response(outgoing, seconds=20) as response:
            with pytest.raises(UpstreamFailed, match="cannot be read: its compressed body is cut"):
                await read_whole(response, outgoing, max_bytes=1_000)


async def test_request_that_mockllm_would_refuse_is_forwarded() -> None:
    call = Call("POST", "/v1/chat/completions", {}, {}, b'{"new": "form"}')
    async with run_recording(response_bytes(b'{"error": {}}', status=b"401 No")) as (
        upstream,
        harness,
    ):
        status, _, _ = await harness.ask(call)
        assert len(upstream.heads) == 1
    assert status == 401


async def test_session_key_is_replaced_by_the_real_one_upstream() -> None:
    async with run_recording(response_bytes(REAL.encode()), keys={"openai": REAL}) as (
        upstream,
        harness,
    ):
        _, _, body = await harness.ask(chat())
        assert upstream.headers()["authorization"] == f"Bearer {REAL}"
    assert body == REAL.encode()
    (interaction,) = recorded_interactions(harness)
    assert REAL not in repr(interaction) and REAL[-12:] not in repr(interaction)
    (entry,) = harness.journal
    assert REAL.encode() not in b"".join(entry.response_body)


async def test_real_key_replaces_a_short_key_only_where_that_is_a_word() -> None:
    headers = {"authorization": "Bearer test", "user-agent": "pytest/8", "x-trace": "test-1"}
    call = Call("POST", "/v1/chat/completions", {"key": "test"}, headers, chat().body, "key=test")
    async with run_recording(response_bytes(), keys={"openai": REAL}) as (upstream, harness):
        assert (await harness.ask(call))[0] == 200
        upstream_headers = upstream.headers()
        assert upstream.heads[0].startswith(f"POST /v1/chat/completions?key={REAL} HTTP/1.1")
    assert upstream_headers["authorization"] == f"Bearer {REAL}"
    assert (upstream_headers["user-agent"], upstream_headers["x-trace"]) == ("pytest/8", "test-1")


async def test_key_with_a_line_end_is_not_shown_to_the_client() -> None:
    async with run_recording(response_bytes(), keys={"openai": f"{REAL}\n"}) as (upstream, harness):
        status, _, body = await harness.ask(chat())
        assert upstream.heads == []
    assert status == 502
    assert REAL not in body.decode() and REAL[-12:] not in body.decode()
    assert REAL not in repr(harness.recording.problems)


async def test_key_of_the_client_that_was_replaced_is_not_kept_in_the_body() -> None:
    key = "mk-4f9d2c7b1a8e3f60"
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"It is {key}."}]})
    call = Call(
        "POST", "/v1/chat/completions", {}, {"authorization": f"Bearer {key}"}, body.encode()
    )
    async with run_recording(response_bytes(), keys={"openai": REAL}) as (_, harness):
        await harness.ask(call)
    (interaction,) = recorded_interactions(harness)
    assert key not in repr(interaction)


async def test_hop_by_hop_and_mockllm_headers_are_not_forwarded() -> None:
    client_headers = {
        "connection": "keep-alive, x-hop",
        "x-hop": "1",
        "cookie": "a=b",
        "x-team": "qa",
    }
    call = chat(headers={**client_headers, "x-mockllm-session": "s", "te": "trailers"})
    answer = response_bytes(
        JSON, b"set-cookie: a=b", b"alt-svc: h3", b"access-control-allow-origin: x"
    )
    async with run_recording(answer) as (upstream, harness):
        _, headers, _ = await harness.ask(call)
        upstream_headers = upstream.headers()
    assert upstream_headers["x-team"] == "qa"
    assert not {"x-hop", "cookie", "x-mockllm-session", "te"} & set(upstream_headers)
    assert not {"set-cookie", "alt-svc", "access-control-allow-origin"} & set(headers)


async def test_mode_none_sends_nothing_and_lists_missed_requests() -> None:
    async with run_recording(response_bytes(), mode="none") as (upstream, harness):
        status, _, body = await harness.ask(chat())
        helper_status, _, _ = await harness.ask(
            Call("GET", "/v1/models", {}, {"authorization": f"Bearer {KEY}"}, b"")
        )
        assert upstream.connections == 0
    assert (status, helper_status) == (404, 404) and b"no_scenario_matched" in body
    result = harness.recording.wait_for_result(seconds=0)
    assert [interaction.request.url for interaction in result.missed] == [
        "/v1/chat/completions",
        "/v1/models",
    ]
    assert KEY not in repr(result.missed)
    assert [entry.outcome for entry in harness.journal] == ["unmatched", "unmatched"]


async def test_provider_without_an_upstream_is_a_problem_of_the_recording() -> None:
    async with run_recording(response_bytes()) as (upstream, harness):
        call = Call("POST", "/vllm/v1/chat/completions", {}, {}, chat().body)
        status, _, _ = await harness.ask(call)
        assert upstream.heads == []
    assert status in (401, 404)
    assert "no upstream of vllm" in harness.recording.problems[0]


async def test_recording_of_one_session_forwards_no_other_sessions() -> None:
    async with run_recording(response_bytes()) as (upstream, harness):
        harness.pipeline.recordings = {"other": harness.recording}
        status, _, _ = await harness.ask(chat())
        assert (status, upstream.heads) == (404, [])
        status, _, _ = await harness.ask(chat(headers={"x-mockllm-session": "other"}))
    assert status == 200


async def test_recording_with_its_own_upstreams_uses_no_others() -> None:
    async with run_recording(response_bytes()) as (upstream, harness):
        harness.recording.upstreams = {"anthropic": f"http://{upstream.address}"}
        status, _, _ = await harness.ask(chat())
        assert (status, upstream.heads) == (404, [])
    (problem,) = harness.recording.problems
    assert problem == "not recorded: openai is not among the providers chosen for this recording"


async def test_an_empty_key_leaves_the_clients_own() -> None:
    keys = {"openai": REAL, "azure": ""}
    async with run_recording(response_bytes(), keys=keys) as (upstream, harness):
        harness.recording.upstreams = {"azure": f"http://{upstream.address}"}
        path = "/openai/deployments/d/chat/completions"
        await harness.ask(Call("POST", path, {}, {"authorization": f"Bearer {KEY}"}, chat().body))
        assert upstream.headers()["authorization"] == f"Bearer {KEY}"


async def test_expired_recording_forwards_nothing() -> None:
    async with run_recording(response_bytes()) as (upstream, harness):
        harness.recording.ends_at = time.monotonic()
        status, _, body = await harness.ask(chat())
        assert (status, upstream.heads) == (404, [])
    assert b"recorded" not in body and len(harness.recording) == 0
