"""Derives from a journal entry conditions for a new step, and a curl command to repeat it."""

import re
import shlex
from urllib.parse import quote, urlencode

from scenarios_app.control.matches import parse_row
from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.models import ServedRequest
from scenarios_app.serving.services import services
from scenarios_app.wire.registry import key_headers

# Headers that curl sets itself.
_OWN = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
# Characters of a path that are not escaped; a percent sign begins an escape.
_IN_PATHS = "/:@!$&'()*+,;=~%-._"
# Linux starts no program with an argument of 128 KiB.
_MAX_ARGUMENT_BYTES = 100_000

MAX_EQUALS_CHARS = 60
_MAX_READ_CHARS = 2_000
_MAX_PHRASE_CHARS = 60
_SENTENCE = re.compile(r"[^.,;:!?()\[\]{}<>\"“”„»«…。、，！？\n\r]+")
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
# Common words, which say nothing about a single request.
_FILLER = """
    about after also answer before been being briefly could does doing done each every
    explain explanation from give given have hello help here into just know like make many
    more most much need only other over please question should show some tell than thank
    thanks that their them then there these they thing this those very want well were what
    when where which while will with would write your yours
"""
_FILLER_WORDS = frozenset(_FILLER.split())


class CannotRead(Exception):
    """The stored request cannot be parsed; the message says why."""


def request_of(served: ServedRequest) -> CanonicalRequest:
    """Parse the request of a journal entry again. Raises CannotRead."""
    if served.request_cut:
        raise CannotRead("The journal kept only the beginning of this request's body.")
    request = parse_row(served, services().pipeline.options)
    if request is None:
        raise CannotRead("No step can answer this kind of request.")
    return request


def proposed_match(request: CanonicalRequest) -> dict[str, str]:
    """Propose conditions that this request and similar ones meet.

    The keys are the fields of `MakeStepForm`. Model and provider are left out, because they seldom
    say what a request is about.
    """
    text = request.last_user_text
    phrase = telling_words(text)
    if phrase:
        proposed = {"mode": "contains", "message": phrase}
    elif len(text) <= MAX_EQUALS_CHARS and "\n" not in text:
        proposed = {"mode": "equals", "message": text}
    else:
        proposed = {"mode": "startswith", "message": text[:MAX_EQUALS_CHARS].partition("\n")[0]}
    last = request.messages[-1] if request.messages else None
    if last is not None and last.role == "tool" and request.tool_results:
        proposed["tool"] = request.tool_results[-1].name
    if not proposed["message"] and not proposed.get("tool"):
        proposed["model"] = request.model
    return proposed


def telling_words(text: str) -> str:
    """Return the most distinctive phrase of a message, as written there, or "".

    The phrase has up to four neighbouring words of one sentence, begins and ends with a distinctive
    word, and has at most two of them. Words with digits end a phrase.
    """
    best, best_score = "", 0
    for sentence in _SENTENCE.finditer(text[:_MAX_READ_CHARS]):
        words = list(_WORD.finditer(text, *sentence.span()))
        for first, begin in enumerate(words):
            score = telling = 0
            for end in words[first : first + 4]:
                if any(map(str.isdigit, end[0])):
                    break
                if not _is_telling(end[0]):
                    if not telling:
                        break
                    continue
                score, telling = score + len(end[0]), telling + 1
                if score > best_score:
                    best, best_score = text[begin.start() : end.end()], score
                if telling == 2:
                    break
    return best[:_MAX_PHRASE_CHARS]


def _is_telling(word: str) -> bool:
    # Two characters of a script without spaces say as much as a word.
    long = len(word) >= (4 if word.isascii() else 2)
    return long and word.casefold() not in _FILLER_WORDS


def curl_of(served: ServedRequest, origin: str) -> str:
    """Return a shell command that sends the request again, with a placeholder for the masked key.

    The request's text cannot inject options: a body or header that begins with `@` names no file,
    and brackets in the address do not multiply the request. A body that is too long for an argument
    of a program is piped to it.
    """
    query = urlencode(served.query)
    url = f"{origin}{quote(served.path, safe=_IN_PATHS)}" + (f"?{query}" if query else "")
    words = ["curl", "-N", "-g", "--path-as-is", "-X", served.method, url]
    headers = {name.lower(): value for name, value in served.request_headers.items()}
    for name, value in headers.items():
        if name in _OWN or name.startswith("x-stainless") or not _TOKEN.fullmatch(name):
            continue
        # curl drops `name:`, but sends `name;` as an empty header.
        words += ["-H", f"{name}: {_unmasked(name, value)}" if value else f"{name};"]
    body, prefix = served.request_body, ""
    if body:
        if "content-type" not in headers:
            words += ["-H", "content-type:"]
        if len(body.encode()) > _MAX_ARGUMENT_BYTES:
            words += ["--data-binary", "@-"]
            prefix = f"printf %s {shlex.quote(body)} | "
        else:
            words += ["--data-raw", body]
    return prefix + " ".join(shlex.quote(word) for word in words)


def _unmasked(name: str, value: str) -> str:
    if name == "authorization":
        return "Bearer any"
    return "any" if name in key_headers() else value
