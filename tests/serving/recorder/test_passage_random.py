"""Whatever an upstream sends, in whatever pieces: the client gets those bytes, and what is kept of
them is replayed as they were or is said to be cut."""

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
from tests.serving.pipelines import Playing, chat
from tests.serving.recorder.upstreams import Recorded
from tests.support.hypothesis_profiles import often

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
WHOLE = [
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


def _packed(body: bytes, encoding: str) -> bytes:
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
class Sent:
    """What an upstream sends, byte by byte, and where it is torn into pieces."""

    pieces: tuple[bytes, ...]
    streams: bool


@st.composite
def sent(draw: st.DrawFn) -> Sent:
    streams = draw(st.booleans())
    body = (
        b"".join(draw(st.lists(st.sampled_from(EVENTS), max_size=6)))
        if streams
        else draw(st.sampled_from(WHOLE) | st.binary(max_size=40))
    )
    encoding = draw(st.sampled_from([*ENCODINGS]) | st.just("none"))
    packed = _packed(body, encoding)
    lines = [f"HTTP/1.1 {draw(st.sampled_from(STATUSES) | st.just('200 OK'))}".encode()]
    lines += draw(st.lists(st.sampled_from(HEADERS), max_size=4))
    if streams:
        lines.append(b"content-type: text/event-stream")
    if ENCODINGS[encoding]:
        lines.append(f"content-encoding: {ENCODINGS[encoding]}".encode())
    match draw(st.sampled_from(["length", "chunked", "close"])):
        case "length":
            off = draw(st.sampled_from([0, 0, 0, 7, -1]))
            lines.append(b"content-length: %d" % max(0, len(packed) + off))
        case "chunked":
            lines.append(b"transfer-encoding: chunked")
            size = draw(st.integers(1, 40))
            parts = [packed[at : at + size] for at in range(0, len(packed), size)]
            framed = [b"%x\r\n%b\r\n" % (len(part), part) for part in parts]
            packed = b"".join(framed) + draw(st.sampled_from([b"0\r\n\r\n"] * 3 + [b"", b"zz\r\n"]))
    raw = b"\r\n".join([*lines, b"", packed])
    if draw(st.integers(0, 3)) == 0:
        raw = raw[: draw(st.integers(0, len(raw)))]
    borders = sorted(draw(st.sets(st.integers(0, len(raw)), max_size=6)))
    places = [0, *borders, len(raw)]
    pieces = tuple(raw[a:b] for a, b in itertools.pairwise(places) if a < b)
    return Sent(pieces, streams)


@dataclass(frozen=True)
class Heard:
    """What a client of the upstream itself gets: no status where there was no answer."""

    status: int | None
    body: bytes
    cut: bool


async def directly(place: str, call: Call) -> Heard:
    body: list[bytes] = []
    status = None
    async with httpx2.AsyncClient(trust_env=False, timeout=SECONDS) as client:
        headers = {**call.headers, "accept-encoding": "gzip, deflate"}
        asked = client.stream(
            "POST", f"http://{place}{call.path}", content=call.body, headers=headers
        )
        try:
            async with asked as response:
                status = response.status_code
                async for piece in response.aiter_raw():
                    body.append(piece)
        except httpx2.TransportError:
            return Heard(status, b"".join(body), cut=True)
    return Heard(status, b"".join(body), cut=False)


async def played(playing: Playing, call: Call) -> tuple[Answer, bytes]:
    answer = await playing.pipeline.answer(call)
    return answer, b"".join([piece async for piece in answer.pieces()])


def is_cut(answer: Answer) -> bool:
    return answer.reply.cut


@settings(
    max_examples=often(400),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sent=sent())
def test_bytes_pass_unchanged_and_replay_as_they_were(
    sent: Sent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    asyncio.run(asyncio.wait_for(passes(sent), SECONDS))
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def passes(sent: Sent) -> None:
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, said: problems.append(said))
    call = chat(stream=sent.streams, headers={"accept-encoding": "gzip, deflate"})
    async with raw_provider(*sent.pieces) as upstream:
        heard = await directly(upstream.address, call)
        playing = Recorded(upstream.address)
        answer, body = await played(playing, call)
    ended = playing.recording.wait_for_result(seconds=0)
    (entry,) = playing.journal
    assert entry.status == answer.reply.status
    if heard.status is None:
        assert answer.reply.status == 502 and "upstream_failed" in json.loads(body)["error"]["code"]
        assert ended.interactions == () and len(ended.problems) == 1
        return
    assert (answer.reply.status, body, is_cut(answer)) == (heard.status, heard.body, heard.cut)
    assert dict(answer.reply.headers).get("x-mockllm-step") != "theirs"
    if not ended.interactions:
        # An unreadable body is reported as a problem.
        assert len(ended.problems) == 1
        return
    (kept,) = ended.interactions
    document = to_document("again", [kept]).document
    again, replayed = await played(Playing(document), chat(stream=sent.streams))
    encoding = dict(answer.reply.headers).get("content-encoding", "")
    whole = unpacked(body, encoding)
    assert again.reply.status == heard.status
    assert is_cut(again) == kept.response.cut
    if kept.response.cut:
        assert kept.notes
        assert (whole or body).startswith(replayed) or whole is None
    else:
        assert replayed == whole
    assert kept.response.cut or not heard.cut
    assert not problems


def unpacked(body: bytes, encoding: str) -> bytes | None:
    """A whole body as it reads, None where it is no whole one."""
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
