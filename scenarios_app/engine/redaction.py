"""Redacts secrets in stored requests and answers, by the names of their keys and wherever else the
same request contains them."""

import re
from collections.abc import Iterable, Iterator

import re2

from scenarios_app.engine.secrets import MASK, STEMS, is_secret, key_names, mask

# A JSON key, also in JSON that is a string within JSON, where quotes are escaped.
_KEY = re.compile(r'(\\{0,7})"([^"\\]{1,200})\1"\s*+:\s*+')
# One pass that finds possible secret keys; most bodies have none. `tokens` is an ordinary word,
# which nearly all answers contain.
_STEMS = (*STEMS, "sig")
_TOKEN_STEM = "token"
_REST_OF_KEY, _END_OF_KEY = r'[^"\\]*', r'\\*"[^"\w]*:'
_SECRET_KEY = re2.compile(
    f"(?i:{'|'.join(stem for stem in _STEMS if stem != _TOKEN_STEM)}){_REST_OF_KEY}{_END_OF_KEY}"
    f"|[A-Za-z]{_TOKEN_STEM}{_REST_OF_KEY}{_END_OF_KEY}"
    f'|(?i:{_TOKEN_STEM})(?:(?:[^s"\\\\]|s[a-z]){_REST_OF_KEY})?{_END_OF_KEY}'
)
# Limits for the search backwards from a stem to the start of its key.
_MAX_KEY_CHARS, _MAX_BACKSLASHES = 200, 7
# So far around a signature the object that it signs is searched: a body may hold thousands.
_MAX_OBJECT_CHARS = 32_768
_CAPITALS = re.compile("[A-Z]+")
_STRING = re.compile(r'(?s)(?:[^"\\]|\\.)*')
_LIST_OF_STRINGS = re.compile(r'\[\s*(\\{0,7}")')
_ESCAPED_STRING = re.compile(r'[^"\\]*')
_ESCAPED_TOKEN = re.compile(r'(?<!\\)"|[\[\]{}]')
_TOKEN = re.compile(r'(?s)"(?:[^"\\]|\\.)*"?|[\[\]{}]')
# Keys of reasoning signatures, and the words beside a `signature` that is one.
_SIGNATURE_KEYS = frozenset({"thoughtSignature", "thought_signature"})
_THINKING = ("thinking", "signature_delta")
# Keys whose values are masked whole, objects too. Under other keys an object may be a schema that
# describes a parameter of that name.
_MASKED_WHOLE = frozenset({"apikey", "cookie", "proxyauthorization", "setcookie"})


def redact_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers or query parameters by name with secret values masked; commas join the values
    of a repeated name."""
    redacted: dict[str, str] = {}
    for name, value in pairs:
        masked = mask(value) if is_secret(name) else value
        redacted[name] = f"{redacted[name]}, {masked}" if name in redacted else masked
    return redacted


def redact_body(body: str) -> str:
    """Return JSON text, whole or cut, with the values of secret keys masked."""
    return _redact_keys(body) if names_secret(body) else body


def names_secret(body: str) -> bool:
    """Return True if JSON text may have a secret key; if not, no piece of it has one."""
    return _SECRET_KEY.search(body) is not None


def redact_text(text: str, secrets: Iterable[str]) -> str:
    """Return a text in which `mask` is applied to each occurrence of these secrets."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, mask(secret))
    return text


def _redact_keys(body: str) -> str:
    """Return a body with the values of secret keys masked, also in JSON that is a string in it."""
    pieces: list[str] = []
    end = 0
    for key in _secret_keys(body):
        if key.start() < end:
            continue
        pieces.append(body[end : key.end()])
        masked, end = _mask_value(body, key)
        pieces.append(masked)
    return "".join((*pieces, body[end:]))


def _secret_keys(body: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `_KEY` for the secret keys in a body, in order. They are searched for by
    their stems, so that most keys are never examined."""
    lower = body.lower()
    if len(lower) != len(body):
        # Some capital letters have two-character lower-case forms.
        lower = _CAPITALS.sub(lambda match: match[0].lower(), body)
    quotes = {
        lower.rfind('"', max(match.start() - _MAX_KEY_CHARS, 0), match.start())
        for stem in _STEMS
        if stem in lower
        for match in re.finditer(stem, lower)
    }
    for quote in sorted(quotes - {-1}):
        start = quote
        while start and quote - start < _MAX_BACKSLASHES and body[start - 1] == "\\":
            start -= 1
        key = _KEY.match(body, start)
        if key is not None and is_secret(key[2]) and not _signs_reasoning(body, key):
            yield key


def _signs_reasoning(body: str, key: re.Match[str]) -> bool:
    """Return True if a secret key is that of a reasoning signature, which is no secret. The key
    `signature` is one if the text between the braces around it mentions thinking."""
    if key[2] != "signature":
        return key[2] in _SIGNATURE_KEYS
    first, last = max(key.start() - _MAX_OBJECT_CHARS, 0), key.end() + _MAX_OBJECT_CHARS
    start, end = body.rfind("{", first, key.start()), body.find("}", key.end(), last)
    first, last = max(start, first), end if end >= 0 else last
    return any(body.find(word, first, last) >= 0 for word in _THINKING)


def _mask_value(body: str, key: re.Match[str]) -> tuple[str, int]:
    """Return the masked value after a secret key, without the closing quote of a string, and the
    index after the part replaced; an empty text and the value's start if it is not masked."""
    start, quote = key.end(), key[1] + '"'
    if body.startswith(quote, start):
        first = start + len(quote)
        string = (_STRING if quote == '"' else _ESCAPED_STRING).match(body, first)
        end = string.end() if string else first
        return quote + mask(body[first:end]), end
    whole = re.sub(r"[-_]", "", key[2]).lower() in _MASKED_WHOLE | key_names()
    opening = body[start : start + 1]
    if opening == "[" or (opening == "{" and whole):
        strings = _LIST_OF_STRINGS.match(body, start)
        if not whole and (strings is None or strings[1] != quote):
            # A list without strings.
            return "", start
        return quote + MASK + quote, _end_of(body, start, escaped=quote != '"')
    return "", start


def _end_of(body: str, start: int, *, escaped: bool) -> int:
    """Return the end index of the list or object at `start`. If it is cut, return the end of the
    body, or of the string that contains it, whose quotes are `escaped`."""
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
