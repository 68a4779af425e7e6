"""Conversations to be played, as documents: what is asked turn by turn, each as a call to the
pipeline, and what should come; those of the examples, and one made of what a session of the journal
was asked."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import quote

from msgspec.structs import replace
from pydantic import Field, JsonValue

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.text_shapes import TextShape
from scenarios_app.engine.document import ScenarioDocument
from scenarios_app.engine.document.json_text import decode, plain
from scenarios_app.engine.document.load import AnyScenario, validate
from scenarios_app.engine.document.scenario import VersionedDocument
from scenarios_app.engine.shapes import Document, Finding, expected, quote_json
from scenarios_app.engine.shapes.fields import Flag, Name, SomeText, Status, Text
from scenarios_app.models import ServedRequest
from scenarios_app.serving.doors.calls import SAFE_IN_PATH, make_call
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import find_target, is_provider_path, wires_by_name
from scenarios_app.wire.samples import SampleCall, SampleRequest

_WAYS = ("user", "tool_results", "retry", "request")

Arguments: TypeAlias = Annotated[dict[str, JsonValue], expected("an object")]
FOLDER = Path(__file__).parent / "examples"
# Headers that a client makes by itself, and keys, which are masked: a new request brings its own.
_OWN = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}
_OWN |= {"x-mockllm-session", "user-agent", "accept"}


def call_of(sent: SampleCall, *, session: str) -> Call:
    """What a provider's client sends, in this session if it has a name."""
    path, _, query = sent.path.partition("?")
    named = {**sent.headers, "content-type": "application/json"}
    call = make_call(
        "POST",
        path,
        query=query.encode(),
        headers=[(name.encode(), value.encode()) for name, value in named.items()],
        body=json.dumps(sent.body).encode(),
    )
    return replace(call, session=session)


def raw(path: str, body: str, *, headers: Mapping[str, str], session: str) -> Call:
    """A request as it stands, such as one of the journal; keys that are masked there will do."""
    path, _, query = path.partition("?")
    named = {name.lower(): value for name, value in headers.items()}
    if session:
        named.pop("x-mockllm-session", None)
    if not headers:
        # It may be meant for any provider.
        for wire in wires_by_name().values():
            named = {**wire.sample(SampleRequest("")).headers, **named}
    call = make_call(
        "POST",
        quote(path, safe=SAFE_IN_PATH + "%"),
        query=query.encode(),
        headers=[(n.encode(), v.encode("utf-8", "replace")) for n, v in named.items()],
        body=body.encode("utf-8", "replace"),
    )
    return replace(call, session=session)


class ExpectedCallDocument(Document):
    """A tool call that should come."""

    name: SomeText
    """The tool's name."""
    arguments: Arguments = Field(default_factory=dict)
    """Arguments that it has at least."""


class ExpectedDocument(Document):
    """What a turn should be answered with; what is not named may be anything."""

    scenario: Name | None = None
    """The scenario that answers."""
    step: Name | None = None
    """The step that answers: its name, or its number from 1."""
    status: Status | None = None
    """The HTTP status. Without one, a step has to answer; the catch-all does not count."""
    text: TextShape | None = None
    """What it says; where it says nothing, its tool calls as the journal shows them."""
    reasoning: TextShape | None = None
    """What it thinks."""
    tool_calls: list[ExpectedCallDocument] | None = None
    """All of its tool calls in order; an empty list: none."""
    cut: Flag | None = None
    """Whether the connection closes before the answer is whole."""


class GivenResultDocument(Document):
    """What a tool gave back."""

    name: SomeText
    """The tool. It answers the first call of this name that has no result yet."""
    content: Text = ""
    """What it gave back."""


class GivenRequestDocument(Document):
    """A request as it stands."""

    path: SomeText
    """With its query, if it has one."""
    headers: dict[str, Text] = Field(default_factory=dict)
    """By name; without any, every provider's own."""
    body: JsonValue = None
    """JSON; a string is sent as it stands."""

    def findings(self) -> Iterator[Finding]:
        path = self.path.partition("?")[0]
        if not is_provider_path(path):
            yield ("path",), f"no provider answers {path}"


_ANYTHING = ExpectedDocument()


class AskedDocument(Document):
    """One turn: what is asked in one of these ways, and what should come."""

    user: Text | None = None
    """A message of the user, after all that was said before."""
    tool_results: list[GivenResultDocument] | None = Field(default=None, min_length=1)
    """What the tools gave back that the last answer called."""
    retry: Flag = False
    """The request before once more, as clients do after an error."""
    request: GivenRequestDocument | None = None
    """A whole request, in place of one made from the conversation."""
    expect: ExpectedDocument = Field(default_factory=lambda: _ANYTHING)
    """What should come."""

    def findings(self) -> Iterator[Finding]:
        given = (self.user, self.tool_results, self.retry or None, self.request)
        if sum(one is not None for one in given) != 1:
            yield (), f"expected one of {', '.join(_WAYS)}"


class ConversationDocument(Document):
    """A conversation with one client, played in a session of its own."""

    name: Name = "conversation"
    """Names it in reports."""
    provider: Text = "openai"
    """Whose API is asked."""
    model: SomeText = "gpt-4o"
    """The model that is asked for."""
    stream: Flag = False
    """Whether answers are streamed."""
    system: Text = ""
    """The system prompt."""
    tools: list[SomeText] = Field(default_factory=list)
    """Names of the tools that are offered."""
    turns: list[AskedDocument] = Field(min_length=1)
    """What is asked, in order."""

    def findings(self) -> Iterator[Finding]:
        if self.provider not in wires_by_name():
            known = ", ".join(wires_by_name())
            yield (
                ("provider",),
                f"{quote_json(self.provider)} is not known, expected one of {known}",
            )
        if self.turns[0].retry:
            yield ("turns", 0, "retry"), "nothing was asked before"


class PlayDocument(VersionedDocument):
    """What `mockllm play` takes: conversations, and the scenarios that they are played against."""

    title: Text = ""
    """What it is called where people choose it."""
    description: Text = ""
    """What it shows."""
    scenarios: list[AnyScenario] = Field(default_factory=list)
    """Without any, the stored ones answer."""
    conversations: list[ConversationDocument] = Field(min_length=1)
    """Each is played in a session of its own."""


def read_play(data: bytes, *, source: str = "") -> PlayDocument:
    """A file's conversations, also a single one with its `turns`; raises DocumentError."""
    value = decode(data, source=source)
    if isinstance(value, dict) and "turns" in value:
        scenarios = {"scenarios": value.pop("scenarios")} if "scenarios" in value else {}
        one = validate(ConversationDocument, value, source=source)
        read: Json = {**scenarios, "conversations": [written(one)]}
        return validate(PlayDocument, read, source=source)
    return validate(PlayDocument, value, source=source)


def conversation_of(value: Json) -> ConversationDocument:
    """One conversation of plain JSON; raises DocumentError."""
    return validate(ConversationDocument, plain(value))


def written(document: Document) -> dict[str, Json]:
    """The shortest JSON that reads as this document."""
    return document.model_dump(by_alias=True, exclude_defaults=True)


@dataclass(frozen=True, slots=True)
class Example:
    """One of them; `key` names it in addresses."""

    key: str
    title: str
    description: str
    scenario: ScenarioDocument
    conversation: ConversationDocument


@cache
def examples() -> Mapping[str, Example]:
    """All of them by their keys, in the order in which they are offered."""
    return {one.key: one for one in map(_example, sorted(FOLDER.glob("*.json")))}


def _example(path: Path) -> Example:
    read = read_play(path.read_bytes(), source=path.name)
    (scenario,), (conversation,) = read.scenarios, read.conversations
    key = path.stem.partition("-")[2]
    return Example(key, read.title, read.description, scenario, conversation)


def recorded(name: str, rows: Iterable[ServedRequest]) -> tuple[dict[str, Json], int]:
    """The conversation, and how many requests it lacks because the journal kept only the beginning
    of their bodies. What was answered is what should come; where no step answered, one should."""
    turns: list[Json] = []
    cut = 0
    for row in rows:
        query = "&".join(f"{key}={value}" for key, value in row.query.items())
        path = f"{row.path}?{query}" if query else row.path
        if row.method != "POST" or not _is_asked(row, path):
            continue
        if row.request_cut:
            cut += 1
            continue
        headers = {k: v for k, v in row.request_headers.items() if k not in _OWN}
        request: Json = {"path": path, "headers": headers, "body": _body(row.request_body)}
        turns.append({"request": request, "expect": _expected(row)})
    return {"name": (name.strip() or "session")[:200], "turns": turns}, cut


def _is_asked(row: ServedRequest, path: str) -> bool:
    target = find_target(raw(path, row.request_body, headers=row.request_headers, session=""))
    return bool(target and target.endpoint and target.endpoint.generates)


def _body(text: str) -> Json:
    try:
        body: Json = json.loads(text)
    except ValueError:
        return text
    return body


def _expected(row: ServedRequest) -> dict[str, Json]:
    if not row.scenario or row.fallback:
        return {}
    expect: dict[str, Json] = {"scenario": row.scenario, "step": row.step, "status": row.status}
    if row.answered and row.status < 400:
        # The journal keeps how it begins.
        expect["text"] = {"startswith": row.answered}
    return expect
