"""Recognizes secrets by the names of their headers, parameters or keys, and masks them.

A name is split into words (`X-Auth-Token`, `accessToken`): a word that contains one of the stems
makes it secret, unless it is an ordinary word that contains a stem by chance.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Final

MASK: Final = "***"
# Shorter pieces of a secret can occur anywhere by chance.
MIN_SECRET_CHARS: Final = 8
STEMS: Final = (
    *("auth", "cookie", "credential", "key", "passphrase", "passw", "secret", "session"),
    *("signature", "token"),
)
_WORDS: Final = frozenset({"sig"})
_ORDINARY: Final = frozenset(
    {"author", "authored", "authoring", "authority", "authorities", "authors", "authorship"}
    | {"authentic", "authenticity", "donkey", "hockey", "hotkey", "hotkeys", "jockey", "keyboard"}
    | {"keyboards", "keyframe", "keyframes", "keynote", "keynotes", "keypad", "keystone"}
    | {"keystroke", "keystrokes", "keyword", "keywords", "monkey", "monkeys", "secretary", "turkey"}
    | {"tokenization", "tokenize", "tokenized", "tokenizer", "tokenizers", "tokens", "whiskey"}
)
# Our own headers name sessions, which are shown with requests.
_OWN_HEADER_PREFIX: Final = "x-mockllm-"
# Headers that tell one WebSocket, and one session of Codex, from another, and give access to
# nothing.
_PLAIN_HEADERS: Final = frozenset({"sec-websocket-key", "session-id"})
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SCHEME: Final = re.compile(r"(?i)(basic|bearer|digest|token) +")
_TAIL_CHARS: Final = 4
_MIN_CHARS_WITH_TAIL: Final = 12


# Lower-case names that are secret although they contain no stem.
_declared: set[str] = set()


def declare_secret_names(names: Iterable[str]) -> None:
    """Make `is_secret` true for these names, in any case: the key headers of providers."""
    _declared.update(name.lower() for name in names)
    is_secret.cache_clear()
    key_names.cache_clear()


@cache
def key_names() -> frozenset[str]:
    """Return the declared names in lower case without hyphens, to compare JSON keys with them."""
    return frozenset(name.replace("-", "") for name in _declared)


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Return True if a header, parameter or key of this name holds a secret: it is declared, or a
    word of it contains a stem. Our own headers hold none."""
    if name.lower().startswith(_OWN_HEADER_PREFIX) or name.lower() in _PLAIN_HEADERS:
        return False
    if name.lower() in _declared:
        return True
    words = {word.lower() for word in _WORD.findall(name)} - _ORDINARY
    return not words.isdisjoint(_WORDS) or any(stem in word for word in words for stem in STEMS)


def mask(secret: str) -> str:
    """Return `***` for a secret, after its scheme (such as `Bearer `), if any. The last four of at
    least twelve characters follow, so that people can tell keys apart."""
    scheme = match[0] if (match := _SCHEME.match(secret)) else ""
    bare = secret[len(scheme) :]
    return scheme + MASK + (bare[-_TAIL_CHARS:] if len(bare) >= _MIN_CHARS_WITH_TAIL else "")


def secrets_of(*named: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of secret headers or parameters, without schemes and cookies' names,
    longest first. Short ones are left out, since replacing them everywhere would garble texts."""
    secrets = {
        secret
        for values in named
        for name in filter(is_secret, values)
        for secret in _bare_secrets(name.lower(), values[name])
        if len(secret) >= MIN_SECRET_CHARS
    }
    return tuple(sorted(secrets, key=len, reverse=True))


def without_pieces(text: str, secrets: Iterable[str]) -> str:
    """Return a text with `***` in place of each run of eight or more characters of a secret."""
    for secret in secrets:
        spans = [
            (match.start(), match.start() + MIN_SECRET_CHARS)
            for i in range(len(secret) - MIN_SECRET_CHARS + 1)
            for match in re.finditer(f"(?={re.escape(secret[i : i + MIN_SECRET_CHARS])})", text)
        ]
        for start, end in reversed(_merge_spans(spans)):
            text = text[:start] + MASK + text[end:]
    return text


def _merge_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans in order, with those that overlap or touch merged."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _bare_secrets(name: str, value: str) -> Iterable[str]:
    """Return the value of each cookie if the lower-case name is a cookie header's, else the value
    without its scheme."""
    if "cookie" in name:
        return [pair.partition("=")[2].strip() for pair in value.split(";")]
    return [_SCHEME.sub("", value, count=1).strip()]
