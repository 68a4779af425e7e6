"""What the upstream answers reaches the client unchanged, and the recording as it came."""

import asyncio
import gzip
import json
import time
from collections.abc import Mapping
from contextlib import aclosing

import pytest

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.recording import Interaction
from scenarios_app.serving.recorder.recordings import Recording
from scenarios_app.serving.recorder.upstream import (
    Outgoing,
    UpstreamFailed,
    open_response,
    read_whole,
)
from scenarios_app.wire.base import Call
from tests.chat.raw_provider import raw_provider
from tests.serving.pipelines import chat, claude, says, scenario
from tests.serving.recorder.upstreams import (
    HEAD,
    JSON,
    KEY,
    REAL,
    Recorded,
    chunk,
    recorded,
    whole,
    zipped,
)

STREAM = HEAD + b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
EVENTS = (b'data: {"a": 1}\n\n', b"data: [DONE]\n\n")


def kept(playing: Recorded) -> tuple[Interaction, ...]:
    return playing.recording.wait_for_result(seconds=0).interactions


async def test_a_whole_answer_passes_with_its_status_and_headers() -> None:
    answer = whole(JSON, b"x-request-id: req_1", status=b"201 Created")
    async with recorded(answer) as (upstream, playing):
        status, headers, body = await playing.ask(chat())
        sent = upstream.headers()
    assert (status, body, headers["x-request-id"]) == (201, JSON, "req_1")
    assert headers["content-length"] == str(len(JSON))
    assert upstream.heads[0].startswith("POST /v1/chat/completions HTTP/1.1")
    assert sent["authorization"] == f"Bearer {KEY}" and sent["host"] == upstream.address
    (one,) = kept(playing)
    assert (one.response.status, one.response.body) == (201, JSON)
    assert one.request.url == "/v1/chat/completions" and json.loads(one.request.body)["model"]
    (entry,) = playing.journal
    assert (entry.outcome, entry.way, entry.matched, entry.status) == (
        "complete",
        "upstream",
        True,
        201,
    )
    assert b"".join(entry.response_body) == JSON


async def test_body_of_a_forwarded_answer_counts_in_the_memory_of_the_journal() -> None:
    async with recorded(whole()) as (_, playing):
        await playing.ask(chat())
    (entry,) = playing.journal
    assert entry.held_bytes == len(entry.request_body) + len(JSON)


async def test_a_streams_pieces_pass_one_by_one_while_it_goes_on() -> None:
    """The first event is there while the upstream still holds the second."""
    first = STREAM + chunk(EVENTS[0])
    async with recorded(first, hold=True) as (upstream, playing):
        answer = await playing.pipeline.answer(chat(stream=True))
        async with aclosing(answer.pieces()) as pieces:
            assert await anext(pieces) == b""
            assert answer.reply.status == 200
            assert await anext(pieces) == EVENTS[0]
        # The client has left: the upstream's connection is closed too.
        await asyncio.wait_for(upstream.client_closed.wait(), 30)
    (one,) = kept(playing)
    assert one.response.body == EVENTS[0] and not one.response.cut
    assert "client left" in one.notes[0]
    assert playing.journal[0].outcome == "client_gone"
    assert playing.pipeline.streams.open == 0


async def test_each_piece_has_its_time() -> None:
    async with recorded(STREAM, *map(chunk, EVENTS), b"0\r\n\r\n") as (_, playing):
        _, headers, body = await playing.ask(chat(stream=True))
    assert body == b"".join(EVENTS) and headers["content-type"] == "text/event-stream"
    (one,) = kept(playing)
    times = [at for at, _ in one.response.chunks]
    assert times == sorted(times) and times[0] > 0
    assert one.response.body == body and one.notes == ()
    assert playing.journal[0].streamed


async def test_a_cut_is_passed_on_and_kept_as_one() -> None:
    async with recorded(STREAM, chunk(EVENTS[0])) as (_, playing):
        answer = await playing.pipeline.answer(chat(stream=True))
        body = b"".join([piece async for piece in answer.pieces()])
    assert body == EVENTS[0]
    assert answer.reply.cut
    (one,) = kept(playing)
    assert one.response.cut and one.response.body == EVENTS[0]


async def test_a_compressed_answer_passes_as_it_is_and_is_kept_as_it_reads() -> None:
    async with recorded(zipped()) as (upstream, playing):
        call = chat(headers={"accept-encoding": "br, gzip;q=0.5, deflate;q=0"})
        _, headers, body = await playing.ask(call)
        assert upstream.headers()["accept-encoding"] == "gzip"
    assert headers["content-encoding"] == "gzip" and gzip.decompress(body) == JSON
    (one,) = kept(playing)
    assert one.response.body == JSON
    assert "content-encoding" not in dict(one.response.headers)


async def test_a_compression_that_ends_too_soon_is_kept_as_a_cut() -> None:
    """Its length is right, so that only what is read of it tells."""
    answer = whole(gzip.compress(JSON)[:-5], b"content-encoding: gzip")
    async with recorded(answer) as (_, playing):
        await playing.ask(chat(headers={"accept-encoding": "gzip"}))
    (one,) = kept(playing)
    assert one.response.cut and JSON.startswith(one.response.body)
    assert "in the midst of its compression" in one.notes[0]


async def test_client_without_compression_gets_an_identity_body() -> None:
    async with recorded(whole()) as (upstream, playing):
        await playing.ask(chat())
        assert upstream.headers()["accept-encoding"] == "identity"


async def test_unreadable_body_is_forwarded_and_not_recorded() -> None:
    answer = whole(b"\x1b\x03\x00", b"content-encoding: br")
    async with recorded(answer) as (_, playing):
        status, _, body = await playing.ask(chat())
    assert (status, body) == (200, b"\x1b\x03\x00")
    ended = playing.recording.wait_for_result(seconds=0)
    assert ended.interactions == () and "compressed as br" in ended.problems[0]


async def test_an_answer_that_is_too_long_is_kept_up_to_its_limit_and_says_so() -> None:
    long = b"[" + b"1," * 500 + b"1]"
    async with recorded(whole(long), record_bytes=100) as (_, playing):
        _, _, body = await playing.ask(chat())
    assert body == long
    (one,) = kept(playing)
    assert one.response.body == long[:100] and one.response.cut
    assert "longer than the 100 bytes" in one.notes[0]


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (b"", 502, "ended the connection"),
        (b"nonsense\r\n\r\n", 502, "ended the connection"),
        (
            whole(b"", b"location: https://elsewhere.example/v1?key=1", status=b"307 Moved"),
            502,
            "answers 307 to 'https://elsewhere.example/v1'; redirects are not followed",
        ),
    ],
)
async def test_no_answer_is_one_error_in_the_providers_envelope(
    answer: bytes, status: int, said: str
) -> None:
    async with recorded(answer) as (upstream, playing):
        got, headers, body = await playing.ask(claude())
        assert len(upstream.heads) == 1
    message = json.loads(body)["error"]["message"]
    assert got == status and said in message and upstream.address in message
    assert headers["x-should-retry"] == "false"
    ended = playing.recording.wait_for_result(seconds=0)
    assert ended.interactions == () and said in ended.problems[0]
    assert playing.journal[0].outcome == "fault"


async def test_an_upstream_that_is_not_there() -> None:
    playing = Recorded("127.0.0.1:1")
    status, _, body = await playing.ask(chat())
    assert status == 502
    assert json.loads(body)["error"]["code"] == "upstream_failed"
    assert "cannot be reached" in json.loads(body)["error"]["message"]


async def test_an_upstream_that_says_nothing() -> None:
    async with recorded(hold=True, upstream_seconds=0.05) as (_, playing):
        status, _, body = await playing.ask(chat())
    assert status == 504 and b"said nothing for 0.05 s" in body


async def test_an_upstream_that_falls_silent_is_a_cut() -> None:
    how = {"hold": True, "upstream_seconds": 0.05}
    async with recorded(STREAM, chunk(EVENTS[0]), **how) as (_, playing):
        answer = await playing.pipeline.answer(chat(stream=True))
        body = b"".join([piece async for piece in answer.pieces()])
    assert body == EVENTS[0] and answer.reply.cut
    assert "fell silent" in kept(playing)[0].notes[0]


@pytest.mark.parametrize("host", ["localtest.example", "internal.example"])
async def test_a_name_that_leads_inside_is_refused(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.1" if host.startswith("local") else "10.0.0.8",)

    monkeypatch.setattr("mockllm_site.kit.dial.resolve_host", resolve)
    playing = Recorded(f"{host}:1")
    status, _, body = await playing.ask(chat())
    assert status == 502 and b"not an address that calls may be sent to" in body


async def test_request_that_a_step_answers_is_not_forwarded() -> None:
    known = scenario("s", says("Hi", match={"messages": [{"contains": "known"}]}))
    async with recorded(whole()) as (upstream, playing):
        playing = Recorded(upstream.address, known)
        _, _, body = await playing.ask(chat("a known thing"))
        assert b"Hi" in body and upstream.heads == []
        await playing.ask(chat("another"))
        assert len(upstream.heads) == 1
    assert len(kept(playing)) == 1


async def test_a_catch_all_answers_nothing_that_is_recorded() -> None:
    all_of_it = scenario("test-mode", says("lorem", match={}), priority=-1000)
    async with recorded(whole()) as (upstream, _):
        playing = Recorded(upstream.address, all_of_it)
        _, _, body = await playing.ask(chat())
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
    async with recorded(whole()) as (upstream, playing):
        status, _, got = await playing.ask(call)
        assert upstream.heads[0].startswith(f"{method} {path} ")
    assert (status, got) == (200, JSON)


@pytest.mark.parametrize(
    "path", ["/v1/vector_stores", "/v1/../admin/keys", "/v1/responses/..%2Fadmin"]
)
async def test_foreign_path_is_a_miss_and_reaches_no_upstream(path: str) -> None:
    call = Call("POST", path, {}, {"authorization": f"Bearer {KEY}"}, b"{}")
    async with recorded(whole(), keys={"openai": REAL}) as (upstream, playing):
        status, _, _ = await playing.ask(call)
        assert upstream.heads == []
    assert status in (404, 405)
    assert "is not forwarded" in playing.recording.problems[0]
    assert len(playing.recording.wait_for_result(seconds=0).missed) == 1


async def test_path_that_the_operator_lists_is_forwarded() -> None:
    call = Call("POST", "/v1/vector_stores", {}, {"authorization": f"Bearer {KEY}"}, b"x")
    async with recorded(whole(), upstream_paths=("/v1/vector_stores",)) as (upstream, playing):
        status, _, got = await playing.ask(call)
        assert upstream.heads[0].startswith("POST /v1/vector_stores ")
    assert (status, got) == (200, JSON)


async def test_requests_at_once_all_find_the_cassettes_of_their_session() -> None:
    class SlowState(MemoryState):
        async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
            await asyncio.sleep(0.01)
            return await super().scenarios_of(session)

    state = SlowState()
    recording = Recording(None, "none", cassettes=(scenario("c", says("Hi!")),), state=state)

    async def give() -> list[str]:
        await recording.give_cassettes("s")
        return [*(await MemoryState.scenarios_of(state, "s"))[1]]

    assert await asyncio.gather(give(), give()) == [["c"], ["c"]]


async def test_cassettes_are_given_again_after_an_outage() -> None:
    class FailingState(MemoryState):
        is_down = True

        async def scenarios_of(self, session: str) -> tuple[int, Mapping[str, Json]]:
            if self.is_down:
                raise StateUnavailable("no Redis")
            return await super().scenarios_of(session)

    state = FailingState()
    recording = Recording(None, "none", cassettes=(scenario("c", says("Hi!")),), state=state)
    with pytest.raises(StateUnavailable):
        await recording.give_cassettes("s")
    state.is_down = False
    await recording.give_cassettes("s")
    assert [*(await state.scenarios_of("s"))[1]] == ["c"]


async def test_compressed_body_that_ends_too_soon_is_not_read_as_whole() -> None:
    half = gzip.compress(JSON)[:-9]
    async with raw_provider(whole(half, b"content-encoding: gzip")) as upstream:
        out = Outgoing(
            "openai", "GET", f"http://{upstream.address}/v1/models", (), b"", "/v1/models"
        )
        async with open_response(out, seconds=20) as response:
            with pytest.raises(UpstreamFailed, match="cannot be read: its compressed body is cut"):
                await read_whole(response, out, most=1_000)


async def test_request_that_mockllm_would_refuse_is_forwarded() -> None:
    call = Call("POST", "/v1/chat/completions", {}, {}, b'{"new": "form"}')
    async with recorded(whole(b'{"error": {}}', status=b"401 No")) as (upstream, playing):
        status, _, _ = await playing.ask(call)
        assert len(upstream.heads) == 1
    assert status == 401


async def test_a_sessions_key_becomes_the_real_one_on_its_way() -> None:
    async with recorded(whole(REAL.encode()), keys={"openai": REAL}) as (upstream, playing):
        _, _, body = await playing.ask(chat())
        assert upstream.headers()["authorization"] == f"Bearer {REAL}"
    assert body == REAL.encode()
    (one,) = kept(playing)
    assert REAL not in repr(one) and REAL[-12:] not in repr(one)
    (entry,) = playing.journal
    assert REAL.encode() not in b"".join(entry.response_body)


async def test_real_key_replaces_a_short_key_only_where_that_is_a_word() -> None:
    headers = {"authorization": "Bearer test", "user-agent": "pytest/8", "x-trace": "test-1"}
    call = Call("POST", "/v1/chat/completions", {"key": "test"}, headers, chat().body, "key=test")
    async with recorded(whole(), keys={"openai": REAL}) as (upstream, playing):
        assert (await playing.ask(call))[0] == 200
        sent = upstream.headers()
        assert upstream.heads[0].startswith(f"POST /v1/chat/completions?key={REAL} HTTP/1.1")
    assert sent["authorization"] == f"Bearer {REAL}"
    assert (sent["user-agent"], sent["x-trace"]) == ("pytest/8", "test-1")


async def test_key_with_a_line_end_is_not_shown_to_the_client() -> None:
    async with recorded(whole(), keys={"openai": f"{REAL}\n"}) as (upstream, playing):
        status, _, body = await playing.ask(chat())
        assert upstream.heads == []
    assert status == 502
    assert REAL not in body.decode() and REAL[-12:] not in body.decode()
    assert REAL not in repr(playing.recording.problems)


async def test_key_of_the_client_that_was_replaced_is_not_kept_in_the_body() -> None:
    key = "mk-4f9d2c7b1a8e3f60"
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"It is {key}."}]})
    call = Call(
        "POST", "/v1/chat/completions", {}, {"authorization": f"Bearer {key}"}, body.encode()
    )
    async with recorded(whole(), keys={"openai": REAL}) as (_, playing):
        await playing.ask(call)
    (one,) = kept(playing)
    assert key not in repr(one)


async def test_headers_of_this_connection_and_of_ours_stay_here() -> None:
    own = {"connection": "keep-alive, x-hop", "x-hop": "1", "cookie": "a=b", "x-team": "qa"}
    call = chat(headers={**own, "x-mockllm-session": "s", "te": "trailers"})
    answer = whole(JSON, b"set-cookie: a=b", b"alt-svc: h3", b"access-control-allow-origin: x")
    async with recorded(answer) as (upstream, playing):
        _, headers, _ = await playing.ask(call)
        sent = upstream.headers()
    assert sent["x-team"] == "qa"
    assert not {"x-hop", "cookie", "x-mockllm-session", "te"} & set(sent)
    assert not {"set-cookie", "alt-svc", "access-control-allow-origin"} & set(headers)


async def test_mode_none_asks_nobody_and_remembers_what_it_missed() -> None:
    async with recorded(whole(), mode="none") as (upstream, playing):
        status, _, body = await playing.ask(chat())
        helper, _, _ = await playing.ask(
            Call("GET", "/v1/models", {}, {"authorization": f"Bearer {KEY}"}, b"")
        )
        assert upstream.connections == 0
    assert (status, helper) == (404, 404) and b"no_scenario_matched" in body
    ended = playing.recording.wait_for_result(seconds=0)
    assert [one.request.url for one in ended.missed] == ["/v1/chat/completions", "/v1/models"]
    assert KEY not in repr(ended.missed)
    assert [entry.outcome for entry in playing.journal] == ["unmatched", "unmatched"]


async def test_a_provider_without_an_upstream_is_told() -> None:
    async with recorded(whole()) as (upstream, playing):
        call = Call("POST", "/vllm/v1/chat/completions", {}, {}, chat().body)
        status, _, _ = await playing.ask(call)
        assert upstream.heads == []
    assert status in (401, 404)
    assert "no upstream of vllm" in playing.recording.problems[0]


async def test_a_recording_of_one_session_leaves_others_alone() -> None:
    async with recorded(whole()) as (upstream, playing):
        playing.pipeline.recordings = {"other": playing.recording}
        status, _, _ = await playing.ask(chat())
        assert (status, upstream.heads) == (404, [])
        status, _, _ = await playing.ask(chat(headers={"x-mockllm-session": "other"}))
    assert status == 200


async def test_a_recording_with_its_own_upstreams_sends_nothing_elsewhere() -> None:
    async with recorded(whole()) as (upstream, playing):
        playing.recording.upstreams = {"anthropic": f"http://{upstream.address}"}
        status, _, _ = await playing.ask(chat())
        assert (status, upstream.heads) == (404, [])
    (problem,) = playing.recording.problems
    assert problem == "not recorded: openai is not among the providers chosen for this recording"


async def test_an_empty_key_leaves_the_clients_own() -> None:
    keys = {"openai": REAL, "azure": ""}
    async with recorded(whole(), keys=keys) as (upstream, playing):
        playing.recording.upstreams = {"azure": f"http://{upstream.address}"}
        path = "/openai/deployments/d/chat/completions"
        await playing.ask(Call("POST", path, {}, {"authorization": f"Bearer {KEY}"}, chat().body))
        assert upstream.headers()["authorization"] == f"Bearer {KEY}"


async def test_a_recording_whose_time_is_up_sends_nothing() -> None:
    async with recorded(whole()) as (upstream, playing):
        playing.recording.ends_at = time.monotonic()
        status, _, body = await playing.ask(chat())
        assert (status, upstream.heads) == (404, [])
    assert b"recorded" not in body and len(playing.recording) == 0
