"""Secrets taken out of what the journal keeps: four last characters stay, so that people can tell
two keys apart, and none of a short one."""

import re
from collections.abc import Iterable, Mapping

HEADERS = frozenset(
    {
        "api-key",
        "authorization",
        "cookie",
        "proxy-authorization",
        "set-cookie",
        "x-api-key",
        "x-goog-api-key",
    }
)
QUERY = HEADERS | {"key"}
MASK = "***"

_KEPT = 4
_SHORT = 12
# A shorter word may be anything: replacing it wherever it stands would garble what people read.
_TELLING = 8
_SCHEME = re.compile(r"(?i)(basic|bearer|digest|token) +")
_NAMES = "|".join(sorted(name.replace("-", "[-_]") for name in HEADERS))
# Also inside JSON that is text within JSON, where each quote stands behind a backslash.
_KEY = re.compile(rf'(?i)(\\{{0,7}})"(?:{_NAMES})\1"\s*:\s*')
# One of these is in each of the names, and looking for it is much quicker.
_STEMS = ("authorization", "api-key", "api_key", "cookie")
_STRING = re.compile(r'(?s)(?:[^"\\]|\\.)*')
_ESCAPED_STRING = re.compile(r'[^"\\]*')
_ESCAPED_TOKEN = re.compile(r'(?<!\\)"|[\[\]{}]')
_TOKEN = re.compile(r'(?s)"(?:[^"\\]|\\.)*"?|[\[\]{}]')


def mask(secret: str) -> str:
    """A secret as it may be shown; the scheme before a key is not a secret."""
    scheme = match[0] if (match := _SCHEME.match(secret)) else ""
    bare = secret[len(scheme) :]
    return scheme + MASK + (bare[-_KEPT:] if len(bare) >= _SHORT else "")


def redact_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers with the secret ones masked; a repeated header keeps all its values."""
    redacted: dict[str, str] = {}
    for name, value in headers:
        shown = mask(value) if name.lower() in HEADERS else value
        redacted[name] = f"{redacted[name]}, {shown}" if name in redacted else shown
    return redacted


def redact_query(query: Mapping[str, str]) -> dict[str, str]:
    """Query parameters with the secret ones masked."""
    return {name: mask(v) if name.lower() in QUERY else v for name, v in query.items()}


def redact_body(body: str) -> str:
    """JSON text, whole or cut, with the values of secret names masked and the rest untouched."""
    lower = body.lower()
    if not any(stem in lower for stem in _STEMS):
        return body
    kept: list[str] = []
    end = 0
    for key in _KEY.finditer(body):
        if key.start() < end:
            continue
        kept.append(body[end : key.end()])
        shown, end = _masked(body, key.end(), quote=key[1] + '"')
        kept.append(shown)
    return "".join((*kept, body[end:]))


def secrets_of(headers: Mapping[str, str], query: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets that a request brought, longest first, to be looked for in everything else."""
    found: set[str] = set()
    for values, names in ((headers, HEADERS), (query, QUERY)):
        for name, value in values.items():
            if name.lower() in names:
                found.update(_bare(name.lower(), value))
    return tuple(sorted((s for s in found if len(s) >= _TELLING), key=len, reverse=True))


def redact_text(text: str, secrets: Iterable[str]) -> str:
    """Text in which none of these secrets stands any more."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, mask(secret))
    return text


def _bare(name: str, value: str) -> Iterable[str]:
    if name == "cookie":
        return [pair.partition("=")[2].strip() for pair in value.split(";")]
    return [_SCHEME.sub("", value, count=1).strip()]


def _masked(body: str, start: int, *, quote: str) -> tuple[str, int]:
    """The value at `start` as it may be shown, and where it ends; the body may be cut in it."""
    if body.startswith(quote, start):
        first = start + len(quote)
        string = (_STRING if quote == '"' else _ESCAPED_STRING).match(body, first)
        end = string.end() if string else first
        return quote + mask(body[first:end]), end
    if body[start : start + 1] in ("[", "{"):
        return quote + MASK + quote, _end_of(body, start, escaped=quote != '"')
    return "", start


def _end_of(body: str, start: int, *, escaped: bool) -> int:
    """Where the list or object at `start` ends, at the latest with the text that holds it."""
    depth = 0
    for token in (_ESCAPED_TOKEN if escaped else _TOKEN).finditer(body, start):
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
            if not depth:
                return token.end()
        elif escaped:
            return token.start()
    return len(body)
