"""Secrets taken out of what is kept, by the names under which they stand and wherever
else the same request holds them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import re2

from scenarios_app.engine.secrets import MASK, STEMS, is_secret, key_names, mask, secret_names

# A key of JSON, also inside JSON that is text within JSON, where each quote stands behind a
# backslash.
_KEY = re.compile(r'(\\{0,7})"([^"\\]{1,200})\1"\s*+:\s*+')
# A key that one of its words may make a secret's, looked for in one pass: most bodies hold none.
# Nearly all answers count `tokens`, an ordinary word where no other letter stands beside it.
_STEMS = (*STEMS, "sig")
_TOKEN_STEM = "token"
_REST_OF_KEY, _END_OF_KEY = r'[^"\\]*', r'\\*"[^"\w]*:'
_SECRET_KEY = re2.compile(
    f"(?i:{'|'.join(stem for stem in _STEMS if stem != _TOKEN_STEM)}){_REST_OF_KEY}{_END_OF_KEY}"
    f"|[A-Za-z]{_TOKEN_STEM}{_REST_OF_KEY}{_END_OF_KEY}"
    f'|(?i:{_TOKEN_STEM})(?:(?:[^s"\\\\]|s[a-z]){_REST_OF_KEY})?{_END_OF_KEY}'
)
# How far a key reaches back from one of its words, and backslashes from its quote.
_MAX_KEY_CHARS, _MOST_BACKSLASHES = 200, 7
_CAPITALS = re.compile("[A-Z]+")
_STRING = re.compile(r'(?s)(?:[^"\\]|\\.)*')
_ESCAPED_STRING = re.compile(r'[^"\\]*')
_ESCAPED_TOKEN = re.compile(r'(?<!\\)"|[\[\]{}]')
_TOKEN = re.compile(r'(?s)"(?:[^"\\]|\\.)*"?|[\[\]{}]')
# Under which names providers sign thinking, and what stands beside the plainest of them then.
_SEALS = frozenset({"signature", "thoughtSignature", "thought_signature"})
_THINKING = ("thinking", "signature_delta")
# A value that is masked whole, also an object; below other names objects are looked into, since
# a schema describes a parameter under its name.
_WHOLE = frozenset({"apikey", "cookie", "proxyauthorization", "setcookie"})


def redact_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers with the secret ones masked; a repeated header keeps all its values."""
    given = tuple(headers)
    redacted = dict(given)
    if len(redacted) == len(given):
        for name in secret_names(tuple(redacted)):
            redacted[name] = mask(redacted[name])
        return redacted
    redacted.clear()
    for name, value in given:
        shown = mask(value) if is_secret(name) else value
        redacted[name] = f"{redacted[name]}, {shown}" if name in redacted else shown
    return redacted


def redact_query(query: Mapping[str, str]) -> dict[str, str]:
    """Query parameters with the secret ones masked."""
    return {name: mask(value) if is_secret(name) else value for name, value in query.items()}


def redact_body(body: str) -> str:
    """JSON text, whole or cut, with strings under secret names masked and the rest untouched."""
    return _taken_apart(body) if names_secret(body) else body


def names_secret(body: str) -> bool:
    """Whether there may be a secret's name in JSON text; if not, there is none in any piece of it
    either."""
    return _SECRET_KEY.search(body) is not None


def redact_bodies(bodies: Sequence[str]) -> Sequence[str]:
    """Each of them as `redact_body` has it: short ones are looked through in one go."""
    return [*map(redact_body, bodies)] if _SECRET_KEY.search("\n".join(bodies)) else bodies


def redact_text(text: str, secrets: Iterable[str]) -> str:
    """Text in which none of these secrets stands any more."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, mask(secret))
    return text


def _taken_apart(body: str) -> str:
    kept: list[str] = []
    end = 0
    for key in _keys(body):
        if key.start() < end:
            continue
        kept.append(body[end : key.end()])
        shown, end = _masked(body, key)
        kept.append(shown)
    return "".join((*kept, body[end:]))


def _keys(body: str) -> Iterator[re.Match[str]]:
    """The secret names in a body, found by what makes them so: most keys are never looked at."""
    lower = body.lower()
    if len(lower) != len(body):
        # Some capital letters have small ones of two characters.
        lower = _CAPITALS.sub(lambda match: match[0].lower(), body)
    quotes = {
        lower.rfind('"', max(at - _MAX_KEY_CHARS, 0), at)
        for stem in _STEMS
        if stem in lower
        for at in _places(lower, stem)
    }
    for quote in sorted(quotes - {-1}):
        start = quote
        while start and quote - start < _MOST_BACKSLASHES and body[start - 1] == "\\":
            start -= 1
        key = _KEY.match(body, start)
        if key is not None and is_secret(key[2]) and not _seals_thinking(body, key):
            yield key


def _seals_thinking(body: str, key: re.Match[str]) -> bool:
    """Whether it is the signature of a model's thinking: no secret, and what one looks for in the
    journal when a conversation loses it."""
    if key[2] not in _SEALS:
        return False
    start, end = body.rfind("{", 0, key.start()), body.find("}", key.end())
    around = body[max(start, 0) : end if end >= 0 else len(body)]
    return key[2] != "signature" or any(word in around for word in _THINKING)


def _places(text: str, word: str) -> Iterator[int]:
    """Where a word begins in a text, every time."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def _masked(body: str, key: re.Match[str]) -> tuple[str, int]:
    """The value of a key as it may be shown, and where it ends; the body may be cut in it."""
    start, quote = key.end(), key[1] + '"'
    if body.startswith(quote, start):
        first = start + len(quote)
        string = (_STRING if quote == '"' else _ESCAPED_STRING).match(body, first)
        end = string.end() if string else first
        return quote + mask(body[first:end]), end
    whole = re.sub(r"[-_]", "", key[2]).lower() in _WHOLE | key_names()
    opening = body[start : start + 1]
    if opening == "[" or (opening == "{" and whole):
        if not whole and not body[start + 1 :].lstrip().startswith(quote):
            # A list of anything but strings.
            return "", start
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
