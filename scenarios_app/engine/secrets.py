"""What is a secret by its name, how one may be shown, and how its pieces are kept out of a text.

A name is taken apart into words (`X-Auth-Token`, `accessToken`): a word that holds one of the stems
makes it a secret's, unless it is one of the ordinary words that hold one by chance.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Final

MASK: Final = "***"
# So many characters of a secret say which it is: fewer may stand anywhere.
PIECE: Final = 8
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
# Our own header names a session, which is shown wherever requests are.
_OWN: Final = "x-mockllm-"
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SCHEME: Final = re.compile(r"(?i)(basic|bearer|digest|token) +")
_KEPT: Final = 4
_SHORT: Final = 12


# Lower-case names that are secret, though no word of theirs says so.
_declared: set[str] = set()


def declare(names: Iterable[str]) -> None:
    """Take these names for secret ones too, in every case: a provider's own headers for keys."""
    _declared.update(name.lower() for name in names)
    is_secret.cache_clear()
    secret_names.cache_clear()
    key_names.cache_clear()


@cache
def key_names() -> frozenset[str]:
    """The declared names without their hyphens, as keys of JSON may have them."""
    return frozenset(name.replace("-", "") for name in _declared)


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether what stands under this name, of a header, a parameter or a key, is a secret."""
    if name.lower().startswith(_OWN):
        return False
    if name.lower() in _declared:
        return True
    words = {word.lower() for word in _WORD.findall(name)} - _ORDINARY
    return not words.isdisjoint(_WORDS) or any(stem in word for word in words for stem in STEMS)


@lru_cache(maxsize=256)
def secret_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some headers' or parameters' names that are secrets'. Requests and answers have the
    same few sets of them again and again."""
    return tuple(name for name in names if is_secret(name))


def mask(secret: str) -> str:
    """A secret as it may be shown: the last four characters of a long one, so that people can tell
    two keys apart. The scheme before a key is not a secret."""
    scheme = match[0] if (match := _SCHEME.match(secret)) else ""
    bare = secret[len(scheme) :]
    return scheme + MASK + (bare[-_KEPT:] if len(bare) >= _SHORT else "")


def secrets_of(*named: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets among these headers or parameters, longest first, to be looked for elsewhere.
    Short ones are left out: replacing them wherever they stand would garble what people read."""
    found = {
        secret
        for values in named
        for name in secret_names(tuple(values))
        for secret in _bare(name.lower(), values[name])
        if len(secret) >= PIECE
    }
    return tuple(sorted(found, key=len, reverse=True))


def without_pieces(text: str, secrets: Iterable[str]) -> str:
    """A text in which no eight characters in a row are those of a secret."""
    for secret in secrets:
        spans = [
            (match.start(), match.start() + PIECE)
            for i in range(len(secret) - PIECE + 1)
            for match in re.finditer(f"(?={re.escape(secret[i : i + PIECE])})", text)
        ]
        for start, end in reversed(_joined(spans)):
            text = text[:start] + MASK + text[end:]
    return text


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that overlap or touch as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _bare(name: str, value: str) -> Iterable[str]:
    if "cookie" in name:
        return [pair.partition("=")[2].strip() for pair in value.split(";")]
    return [_SCHEME.sub("", value, count=1).strip()]
