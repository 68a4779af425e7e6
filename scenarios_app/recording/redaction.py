"""Removes keys from an interaction: from its headers, query and body, and from its answer."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlunsplit

import re2
from ahocorasick_rs import BytesAhoCorasick, MatchKind

from scenarios_app.engine.redaction import redact_body
from scenarios_app.engine.secrets import MASK, MIN_SECRET_CHARS, is_secret, mask, secrets_of
from scenarios_app.recording import Interaction, RecordedRequest

# This many characters of a secret identify it.
_PIECE: Final = 12
MAX_SECRET_CHARS: Final = 50_000
_MIN_KEY_CHARS: Final = 16
# Placeholders that another tool put in place of a key, or that never were keys.
_PLACEHOLDER: Final = re.compile(
    r"(?i)[^0-9]{0,40}?(?:test|mock|fake|dummy|scrub|redact|filter|placeholder|example|your|\*\*\*)"
    r"[^0-9]{0,40}"
)
# Values under such names are keys, not signatures of thinking or names of caches. RE2 searches
# whole bodies in a tenth of the time of `re`.
_KEYS: Final = re2.compile(
    r"(?i)api[-_]?key|authori[sz]ation|passw|secret|(?:access|auth)[-_]?token|credential|private_?key"
)
_RANDOM: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[!-~]+")
_PAIR: Final = re.compile(r'"([^"\\]{1,200})"\s*:\s*"([^"\\]{1,1000})')
_KEY_REMOVED: Final = "the key was repeated in the answer and was taken out there"


def redact_interaction(interaction: Interaction, *, keys: Iterable[str] = ()) -> Interaction:
    """Return the interaction without its secrets, with a note if the answer held one.

    `keys` are secrets that the request itself does not name, such as a key that was replaced.
    """
    request, response = interaction.request, interaction.response
    secrets = SecretMask((*keys, *_named_secrets(request), *_keys_in(response.body)))
    clean_request = replace(
        request,
        url=secrets.mask(_redact_url(request)),
        headers=_redact_headers(request.headers, secrets),
        body=_redact_body(request.body, secrets),
    )
    pieces = [piece for _, piece in response.chunks]
    kept_pieces = secrets.mask_pieces(pieces)
    notes = interaction.notes if kept_pieces == pieces else (*interaction.notes, _KEY_REMOVED)
    times = (at for at, _ in response.chunks)
    headers = _redact_headers(response.headers, secrets)
    answer = replace(response, headers=headers, chunks=tuple(zip(times, kept_pieces, strict=True)))
    return replace(interaction, request=clean_request, response=answer, notes=notes)


class SecretMask:
    """Masks secrets, and random-looking pieces of them of 12 characters, in time linear in the
    text. Ignores short secrets, placeholders, and all after the first MAX_SECRET_CHARS
    characters."""

    def __init__(self, secrets: Iterable[str]) -> None:
        patterns: dict[bytes, None] = {}
        chars = 0
        for secret in dict.fromkeys(secrets):
            chars += len(secret)
            if chars > MAX_SECRET_CHARS:
                break
            if len(secret) >= MIN_SECRET_CHARS and not _PLACEHOLDER.fullmatch(secret):
                whole = (secret, *_random_pieces(secret))
                patterns.update(dict.fromkeys(text.encode("utf-8", "replace") for text in whole))
        self._patterns = patterns
        self._finder = (
            BytesAhoCorasick([*patterns], matchkind=MatchKind.LeftmostLongest) if patterns else None
        )

    def mask(self, text: str) -> str:
        """Return the text with a mask in place of each secret."""
        (masked,) = self.mask_pieces([text.encode("utf-8", "surrogatepass")])
        return masked.decode("utf-8", "surrogatepass")

    def mask_pieces(self, pieces: list[bytes]) -> list[bytes]:
        """Return the pieces of one text without secrets, including secrets that span pieces. The
        mask is put where a secret began."""
        if self._finder is None:
            return pieces
        whole = b"".join(pieces)
        spans = self._find_spans(whole)
        if not spans:
            return pieces
        parts, start = [], 0
        for piece in pieces:
            end = start + len(piece)
            parts.append(_mask_part(whole, spans, start=start, end=end))
            start = end
        return parts

    def _find_spans(self, whole: bytes) -> list[tuple[int, int]]:
        """Return the start and end of each secret, joined where they touch."""
        assert self._finder is not None
        spans: list[tuple[int, int]] = []
        for _, start, end in self._finder.find_matches_as_indexes(whole):
            first, last = spans[-1] if spans else (-1, -1)
            if end <= last:
                continue
            # The finder goes on behind a piece; the next piece may overlap it.
            while end < len(whole) and whole[end - _PIECE + 1 : end + 1] in self._patterns:
                end += 1
            if start > last:
                spans.append((start, end))
            else:
                spans[-1] = (first, end)
        return spans


def _named_secrets(request: RecordedRequest) -> Iterator[str]:
    """Yield the secrets in a request's headers, query, password and body."""
    url = request.url_parts
    userinfo = {"password": url.password or ""}
    yield from secrets_of(dict(request.headers), dict(parse_qsl(url.query)), userinfo)
    yield from _keys_in(request.body)


def _keys_in(body: bytes) -> Iterator[str]:
    """Yield random-looking values under names such as `api_key` in a body."""
    text = body.decode(errors="replace")
    if not _KEYS.search(text):
        return
    try:
        levels: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        # A stream, or a body that is cut, may hold one too.
        levels = [dict([pair]) for pair in _PAIR.findall(text)]
    while levels:
        value = levels.pop()
        if isinstance(value, list):
            levels += value
        elif isinstance(value, dict):
            levels += value.values()
            for name, text in value.items():
                if isinstance(text, str) and _KEYS.search(name):
                    bare = text.rpartition(" ")[2]
                    if _MIN_KEY_CHARS <= len(bare) < 1_000 and _RANDOM.fullmatch(bare):
                        yield bare


def _redact_url(request: RecordedRequest) -> str:
    """Return the URL without user name and password, with secret query parameters masked."""
    parts = request.url_parts
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = parts.query
    if any(is_secret(name) for name, _ in pairs):
        masked = [(name, mask(value) if is_secret(name) else value) for name, value in pairs]
        query = urlencode(masked, safe="*", quote_via=quote, errors="replace")
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=place, query=query))


def _redact_headers(
    headers: Iterable[tuple[str, str]], secrets: SecretMask
) -> tuple[tuple[str, str], ...]:
    """Return all headers, with the values of secret ones and `secrets` in others masked."""
    return tuple(
        (name, mask(value) if is_secret(name) else secrets.mask(value)) for name, value in headers
    )


def _redact_body(body: bytes, secrets: SecretMask) -> bytes:
    """Return a body with `secrets` and the values of secret JSON keys masked."""
    (bare,) = secrets.mask_pieces([body])
    try:
        text = bare.decode()
    except UnicodeDecodeError:
        return bare
    return redact_body(text).encode()


def _random_pieces(secret: str) -> Iterator[str]:
    """Yield the pieces of 12 characters that have digits and letters: a text with one has the
    secret."""
    pieces = (secret[start : start + _PIECE] for start in range(len(secret) - _PIECE + 1))
    return filter(_RANDOM.fullmatch, pieces)


def _mask_part(whole: bytes, spans: list[tuple[int, int]], *, start: int, end: int) -> bytes:
    """Return a part of the whole with a mask for each span that begins in it, and without the rest
    of spans that began before it."""
    out, at = b"", start
    for first, last in spans:
        if last <= start or first >= end:
            continue
        if first >= start:
            out += whole[at:first] + MASK.encode()
        at = max(at, min(last, end))
    return out + whole[at:end]
