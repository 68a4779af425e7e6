"""For random upstream responses, the client gets the same bytes, and the recording replays them or
is marked as cut."""

import asyncio
import gzip
import itertools
import json
import logging
import zlib
from dataclasses import dataclass

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenarios_app.recording.document import to_document
from scenarios_app.serving.playback import Answer
from scenarios_app.wire.base import Call
from tests.chat.raw_provider import raw_provider
from tests.serving.pipelines import Harness, chat
from tests.serving.recorder.upstreams import RecordingHarness
from tests.support.hypothesis_profiles import example_count

SECONDS = 30
EVENTS = [
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"\xc3\xa9\xf0\x9f\x8d\x8b"}}]}\r\n\r\n',
    b"event: ping\ndata: {}\n\n",
    b": a comment\n\n",
    b"data: not json\n\n",
    b"data: [DONE]\n\n",
    b"data: half of an eve",
]
WHOLE_BODIES = [
    b"",
    b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi."}}]}',
    b'{"error":{"message":"no"}}',
    b"[1, 2",
    b"\x00\xff\xfe binary \x80",
    b"<html>Bad Gateway</html>",
]
STATUSES = ["200 OK", "201 Created", "400 Bad Request", "429 Slow", "500 Oops", "529 ", "307 Gone"]
HEADERS = [
    b"x-request-id: req_1",
    b"X-Ratelimit-Remaining: 1",
    b"x-ratelimit-remaining: 2",
    b"x-odd: \xe9\xff",
    b"x-empty:",
    b"x-long: " + b"y" * 5_000,
    b"connection: x-gone",
    b"x-gone: 1",
    b"set-cookie: sid=1",
    b"retry-after: soon",
    b"x-mockllm-step: theirs",
    b"content-type: application/json",
]


def _encode(body: bytes, encoding: str) -> bytes:
    match encoding:
        case "gzip":
            return gzip.compress(body)
        case "two gzips":
            return gzip.compress(body[:3]) + gzip.compress(body[3:])
        case "deflate":
            return zlib.compress(body)
        case "raw deflate":
            return zlib.compress(body, wbits=-15)
        case "half of a gzip":
            return gzip.compress(body)[:-5]
        case _:
            return body


ENCODINGS = {
    "none": "",
    "gzip": "gzip",
    "two gzips": "x-gzip",
    "deflate": "deflate",
    "raw deflate": "deflate",
    "half of a gzip": "gzip",
    "no gzip": "gzip",
    "br": "br",
    "identity": "identity",
}


@dataclass(frozen=True)
class UpstreamResponse:
    """The bytes of an upstream's response, divided into pieces."""

    pieces: tuple[bytes, ...]
    streams: bool


@st.composite
def upstream_responses(draw: st.DrawFn) -> UpstreamResponse:
    streams = draw(st.booleans())
    body = (
        b"".join(draw(st.lists(st.sampled_from(EVENTS), max_size=6)))
        if streams
        else draw(st.sampled_from(WHOLE_BODIES) | st.binary(max_size=40))
    )
    encoding = draw(st.sampled_from([*ENCODINGS]) | st.just("none"))
    encoded = _encode(body, encoding)
    lines = [f"HTTP/1.1 {draw(st.sampled_from(STATUSES) | st.just('200 OK'))}".encode()]
    lines += draw(st.lists(st.sampled_from(HEADERS), max_size=4))
    if streams:
        lines.append(b"content-type: text/event-stream")
    if ENCODINGS[encoding]:
        lines.append(f"content-encoding: {ENCODINGS[encoding]}".encode())
    match draw(st.sampled_from(["length", "chunked", "close"])):
        case "length":
            length_error = draw(st.sampled_from([0, 0, 0, 7, -1]))
            lines.append(b"content-length: %d" % max(0, len(encoded) + length_error))
        case "chunked":
            lines.append(b"transfer-encoding: chunked")
            size = draw(st.integers(1, 40))
            parts = [encoded[at : at + size] for at in range(0, len(encoded), size)]
            framed = [b"%x\r\n%b\r\n" % (len(part), part) for part in parts]
            encoded = b"".join(framed) + draw(
                st.sampled_from([b"0\r\n\r\n"] * 3 + [b"", b"zz\r\n"])
            )
    raw = b"\r\n".join([*lines, b"", encoded])
    if draw(st.integers(0, 3)) == 0:
        raw = raw[: draw(st.integers(0, len(raw)))]
    cuts = sorted(draw(st.sets(st.integers(0, len(raw)), max_size=6)))
    bounds = [0, *cuts, len(raw)]
    pieces = tuple(raw[a:b] for a, b in itertools.pairwise(bounds) if a < b)
    return UpstreamResponse(pieces, streams)


@dataclass(frozen=True)
class DirectResponse:
    """A response fetched from the upstream directly; `status` is None without a response."""

    status: int | None
    body: bytes
    cut: bool


async def fetch_directly(place: str, call: Call) -> DirectResponse:
    body: list[bytes] = []
    status = None
    async with httpx2.AsyncClient(trust_env=False, timeout=SECONDS) as client:
        headers = {**call.headers, "accept-encoding": "gzip, deflate"}
        request = client.stream(
            "POST", f"http://{place}{call.path}", content=call.body, headers=headers
        )
        try:
            async with request as response:
                status = response.status_code
                async for piece in response.aiter_raw():
                    body.append(piece)
        except httpx2.TransportError:
            return DirectResponse(status, b"".join(body), cut=True)
    return DirectResponse(status, b"".join(body), cut=False)


async def play(harness: Harness, call: Call) -> tuple[Answer, bytes]:
    answer = await harness.pipeline.answer(call)
    return answer, b"".join([piece async for piece in answer.pieces()])


def is_cut(answer: Answer) -> bool:
    return answer.reply.cut


@settings(
    max_examples=example_count(400),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(response=upstream_responses())
def test_bytes_pass_unchanged_and_replay_as_they_were(
    response: UpstreamResponse, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    asyncio.run(asyncio.wait_for(check_proxy(response), SECONDS))
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def check_proxy(response: UpstreamResponse) -> None:
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    call = chat(stream=response.streams, headers={"accept-encoding": "gzip, deflate"})
    async with raw_provider(*response.pieces) as upstream:
        direct = await fetch_directly(upstream.address, call)
        harness = RecordingHarness(upstream.address)
        answer, body = await play(harness, call)
    result = harness.recording.wait_for_result(seconds=0)
    (entry,) = harness.journal
    assert entry.status == answer.reply.status
    if direct.status is None:
        assert answer.reply.status == 502 and "upstream_failed" in json.loads(body)["error"]["code"]
        assert result.interactions == () and len(result.problems) == 1
        return
    assert (answer.reply.status, body, is_cut(answer)) == (direct.status, direct.body, direct.cut)
    assert dict(answer.reply.headers).get("x-mockllm-step") != "theirs"
    if not result.interactions:
        # An unreadable body is reported as a problem.
        assert len(result.problems) == 1
        return
    (interaction,) = result.interactions
    document = to_document("again", [interaction]).document
    replay, replayed = await play(Harness(document), chat(stream=response.streams))
    encoding = dict(answer.reply.headers).get("content-encoding", "")
    decoded = decode(body, encoding)
    assert replay.reply.status == direct.status
    assert is_cut(replay) == interaction.response.cut
    if interaction.response.cut:
        assert interaction.notes
        assert (decoded or body).startswith(replayed) or decoded is None
    else:
        assert replayed == decoded
    assert interaction.response.cut or not direct.cut
    assert not problems


def decode(body: bytes, encoding: str) -> bytes | None:
    """Return the decoded body, or None if it is incomplete or not decodable."""
    if encoding in ("", "identity") or not body:
        return body
    for bits in (31, 15, -15):
        out, rest = b"", body
        try:
            while rest:
                inflate = zlib.decompressobj(bits)
                out += inflate.decompress(rest)
                if not inflate.eof:
                    break
                rest = inflate.unused_data
            else:
                return out
        except zlib.error:
            continue
    return None
