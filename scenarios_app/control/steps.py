"""Derives from a journal entry the conditions of a new step, and adds a step that answers it."""

import re
from collections.abc import Mapping

from scenarios_app.control.kit import ControlError
from scenarios_app.control.matches import parse_row
from scenarios_app.control.stores import ScenarioStore, check_step, read_documents
from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.document import ScenarioDocument
from scenarios_app.engine.shapes.fields import clean_name
from scenarios_app.models import ServedRequest
from scenarios_app.serving.services import services
from scenarios_app.store.drafts import free_name

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
    """Propose conditions that this request and similar ones meet, with the keys of
    `match_document`. The model is proposed only if there is neither a message nor a tool, because
    it seldom says what a request is about."""
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


def match_document(conditions: Mapping[str, str]) -> dict[str, Json]:
    """Return the `match` of a step: `mode` and text of the user `message`, `tool` and `model`."""
    match: dict[str, Json] = {}
    if conditions.get("message"):
        text: dict[str, Json] = {conditions["mode"]: conditions["message"], "ignore_case": True}
        match["messages"] = [{"role": "user", "which": "last", **text}]
    if conditions.get("tool"):
        match["tool_results"] = [{"name": conditions["tool"]}]
    if conditions.get("model"):
        match["model"] = conditions["model"]
    return match


def name_for(request: CanonicalRequest) -> str:
    """Return a name for a new scenario that answers this request; it may be taken."""
    return clean_name(telling_words(request.last_user_text)) or "new scenario"


def add_step_for(
    served: ServedRequest, produce: Json, *, store: ScenarioStore, scenario: str | None = None
) -> ScenarioDocument:
    """Store a step that answers such requests, and return its scenario; the step is the last. The
    scenario named `scenario` is created if it is missing; without a name it is a new one. Raises
    ControlError 409 for a request that cannot be read, and DocumentError for an invalid answer."""
    try:
        request = request_of(served)
    except CannotRead as error:
        raise ControlError(409, f"No step can be made of this request: {error}") from None
    match = match_document(proposed_match(request))
    step: dict[str, Json] = {"consume": False, "match": match, "produce": produce}
    check_step(step)
    stored = store.list_all()
    names = {document.name for document in stored.documents} | {
        problem.scenario for problem in stored.problems
    }
    if scenario in names:
        return store.push(scenario, step)
    name = scenario or free_name(name_for(request), names=names)
    about = f"Made from the request {served.uid}."
    (document,) = read_documents({"name": name, "description": about, "steps": [step]})
    store.add([document])
    return document


def telling_words(text: str) -> str:
    """Return the most distinctive phrase of a message, as written there, or "". The phrase has up
    to four neighbouring words of one sentence, begins and ends with a distinctive word, and has at
    most two of them. Words with digits end a phrase."""
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
    """Return True if a word is long and rare enough to tell one message from another."""
    # Two characters of a script without spaces say as much as a word.
    long = len(word) >= (4 if word.isascii() else 2)
    return long and word.casefold() not in _FILLER_WORDS
