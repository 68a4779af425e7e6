"""A cassette is a scenario: interactions become the steps of one document, each with the request
that it answers, the answer in parts that people can edit, and the answer as it came."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.producing.templates import BRACES, OPENING
from scenarios_app.engine.recorded.requests import decoded, depth_of
from scenarios_app.engine.secrets import is_secret
from scenarios_app.recording import Interaction
from scenarios_app.recording.produced import produced
from scenarios_app.recording.redaction import redacted
from scenarios_app.recording.upstreams import Placed, placed, unspoken

# Tells recordings from what people wrote.
TAG: Final = "recording"
# A document is no deeper than 64, a recorded body stands a few levels below its top.
_DEEPEST: Final = 48


@dataclass(frozen=True, slots=True)
class Made:
    """The document of a cassette, and in words for people what could not be carried over."""

    document: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        return len(self.document["steps"])


def to_document(name: str, interactions: Sequence[Interaction]) -> Made:
    """The scenario document that replays these interactions in their order.

    Secrets are taken out first. What is for an API that this server does not speak is left out, and
    a note says so; without any left the document has no steps.
    """
    steps: list[Json] = []
    notes: Counter[str] = Counter()
    braces = False
    for interaction in interactions:
        kept = redacted(interaction)
        where = placed(kept.request)
        if where is None:
            api = unspoken(kept.request)
            notes[f"left out: {api} is an API that this server does not speak"] += 1
            continue
        answer = produced(where, kept.response)
        braces = braces or answer.braces
        steps.append({"match": _match(where), "produce": answer.document})
        notes.update(f"step {len(steps)}: {note}" for note in kept.notes)
        if answer.lost:
            notes[f"once edited, an answer is without {', '.join(answer.lost)}"] += 1
    document: dict[str, Any] = {"name": name, "tags": [TAG]}
    if braces:
        document["variables"] = {BRACES: OPENING}
    told = (f"{note} ({n} interactions)" if n > 1 else note for note, n in notes.items())
    return Made({**document, "steps": steps}, tuple(told))


def step_of(interaction: Interaction) -> dict[str, Any] | None:
    """The step of one interaction, for those who change what it matches; None where it is for an
    API that this server does not speak."""
    made = to_document("step", [interaction])
    return made.document["steps"][0] if made.steps else None


def _match(where: Placed) -> dict[str, Json]:
    match: dict[str, Json] = {}
    if where.target.endpoint is not None:
        match["provider"] = where.provider
    match["path"] = where.path
    if where.model:
        match["model"] = where.model
    return {**match, "recorded": _recorded(where)}


def _recorded(where: Placed) -> dict[str, Any]:
    call = where.call
    recorded: dict[str, Any] = {}
    if call.method != "POST":
        recorded["method"] = call.method
    query = {name: value for name, value in call.query.items() if not is_secret(name)}
    if query:
        recorded["query"] = query
    body = decoded(call.body)
    if body is not None:
        deep = not isinstance(body, str) and depth_of(body) > _DEEPEST
        recorded["body"] = call.body.decode() if deep else body
    return recorded
