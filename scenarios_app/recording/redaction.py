"""Keys taken out of an interaction before anything of it is kept: in its headers, its query, its
body, and wherever the answer repeats them."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from scenarios_app.engine.redaction import redact_body
from scenarios_app.engine.secrets import MASK, is_secret, mask, secrets_of
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse

# So many characters of a secret in a row say which it is.
_PIECE: Final = 12
_LEAST: Final = 16
# What stands in the place of a key that somebody else took out, or that was never one.
_PLACEHOLDER: Final = re.compile(
    r"(?i)[^0-9]{0,40}?(?:test|mock|fake|dummy|scrub|redact|filter|placeholder|example|your|\*\*\*)"
    r"[^0-9]{0,40}"
)
# What stands under such a name is a key, and no signature of thinking or name of a cache.
_KEYS: Final = re.compile(
    r"(?i)api[-_]?key|authori[sz]ation|passw|secret|(?:access|auth)[-_]?token|credential|private_?key"
)
_RANDOM: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[!-~]+")
_PAIR: Final = re.compile(r'"([^"\\]{1,200})"\s*:\s*"([^"\\]{1,1000})')
_TAKEN_OUT: Final = "the key was repeated in the answer and was taken out there"


def redacted(interaction: Interaction) -> Interaction:
    """The interaction without its secrets. A note says so where the answer held one."""
    request, response = interaction.request, interaction.response
    secrets = tuple(_secrets(request))
    kept = RecordedRequest(
        method=request.method,
        url=_without(_redacted_url(request.url), secrets),
        headers=_redacted_headers(request.headers, secrets),
        body=_redacted_body(request.body, secrets),
    )
    pieces = [piece for _, piece in response.chunks]
    kept_pieces = _cut_out(pieces, secrets)
    told = interaction.notes if kept_pieces == pieces else (*interaction.notes, _TAKEN_OUT)
    answer = RecordedResponse(
        status=response.status,
        headers=_redacted_headers(response.headers, secrets),
        chunks=tuple(
            (at, piece) for (at, _), piece in zip(response.chunks, kept_pieces, strict=True)
        ),
        cut=response.cut,
    )
    return replace(interaction, request=kept, response=answer, notes=told)


def _secrets(request: RecordedRequest) -> Iterator[str]:
    """What is looked for elsewhere, the longest first."""
    headers = dict(request.headers)
    url = urlsplit(request.url)
    query = dict(parse_qsl(url.query))
    userinfo = {"password": url.password or ""}
    named = {*secrets_of(headers, query, userinfo), *_in_body(request.body)}
    for secret in sorted(named, key=len, reverse=True):
        if not _PLACEHOLDER.fullmatch(secret):
            yield secret


def _in_body(body: bytes) -> Iterator[str]:
    """Keys that a request holds under the name of one, where they can be nothing else."""
    try:
        levels: list[Any] = [json.loads(body)]
    except (ValueError, RecursionError):
        # What is no JSON, or is cut, may hold one all the same.
        levels = [dict([pair]) for pair in _PAIR.findall(body.decode(errors="replace"))]
    while levels:
        value = levels.pop()
        if isinstance(value, list):
            levels += value
        elif isinstance(value, dict):
            levels += value.values()
            for name, text in value.items():
                if isinstance(text, str) and _KEYS.search(name):
                    bare = text.rpartition(" ")[2]
                    if len(bare) >= _LEAST and len(bare) < 1_000 and _RANDOM.fullmatch(bare):
                        yield bare


def _redacted_url(url: str) -> str:
    split = urlsplit(url)
    pairs = parse_qsl(split.query, keep_blank_values=True)
    query = split.query
    if any(is_secret(name) for name, _ in pairs):
        shown = [(name, mask(value) if is_secret(name) else value) for name, value in pairs]
        query = urlencode(shown, safe="*", quote_via=quote)
    place = split.netloc.rpartition("@")[2]
    return urlunsplit(split._replace(netloc=place, query=query))


def _redacted_headers(
    headers: Iterable[tuple[str, str]], secrets: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, mask(value) if is_secret(name) else _without(value, secrets))
        for name, value in headers
    )


def _redacted_body(body: bytes, secrets: tuple[str, ...]) -> bytes:
    (bare,) = _cut_out([body], secrets)
    try:
        text = bare.decode()
    except UnicodeDecodeError:
        return bare
    return redact_body(text).encode()


def _without(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, mask(secret))
    return text


def _cut_out(pieces: list[bytes], secrets: tuple[str, ...]) -> list[bytes]:
    """Pieces of one text in which no secret stands, nor a telling part of one, also where it goes
    over from piece to piece; the mask stands where it began."""
    whole = b"".join(pieces)
    spans = _joined(span for secret in secrets for span in _spans(whole, secret))
    if not spans:
        return pieces
    kept, start = [], 0
    for piece in pieces:
        end = start + len(piece)
        kept.append(_covered(whole, spans, start=start, end=end))
        start = end
    return kept


def _spans(whole: bytes, secret: str) -> Iterator[tuple[int, int]]:
    for part in {secret, *_parts(secret)}:
        found = part.encode()
        at = whole.find(found)
        while at >= 0:
            yield at, at + len(found)
            at = whole.find(found, at + 1)


def _parts(secret: str) -> Iterator[str]:
    for start in range(len(secret) - _PIECE + 1):
        part = secret[start : start + _PIECE]
        if _RANDOM.fullmatch(part):
            yield part


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _covered(whole: bytes, spans: list[tuple[int, int]], *, start: int, end: int) -> bytes:
    """A part of the whole with a mask for each span that begins in it, and without the rest of
    those that do not."""
    out, at = b"", start
    for first, last in spans:
        if last <= start or first >= end:
            continue
        if first >= start:
            out += whole[at:first] + MASK.encode()
        at = max(at, min(last, end))
    return out + whole[at:end]
