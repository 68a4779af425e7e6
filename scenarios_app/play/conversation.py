"""Documents of played conversations; those of the examples, and of sessions of the journal."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import quote, urlencode

from msgspec.structs import replace
from pydantic import Field, JsonValue

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.text_shapes import TextShape
from scenarios_app.engine.document import DocumentError, ScenarioDocument
from scenarios_app.engine.document.json_text import decode, to_plain_json
from scenarios_app.engine.document.load import AnyScenario, validate
from scenarios_app.engine.document.scenario import VersionedDocument
from scenarios_app.engine.document.source_text import decode_text, located
from scenarios_app.engine.shapes import Document, KeyProblem, expected, quote_json
from scenarios_app.engine.shapes.fields import Flag, Name, SomeText, Status, Text
from scenarios_app.models import ServedRequest
from scenarios_app.serving.transports.asgi_scope import SAFE_IN_PATH, make_call, read_headers
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import find_target, is_provider_path, wires_by_name
from scenarios_app.wire.samples import SampleCall, SampleRequest

_TURN_KINDS = ("user", "tool_results", "retry", "request")

Arguments: TypeAlias = Annotated[dict[str, JsonValue], expected("an object")]
FOLDER = Path(__file__).parent / "examples"
# Headers that belong to one connection or client; a replayed request gets new ones.
_CLIENT_HEADERS = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}
_CLIENT_HEADERS |= {"x-mockllm-session", "user-agent", "accept"}


def sample_call(sent: SampleCall, *, session: str) -> Call:
    """Return the POST call for a provider's sample request, in this session unless it is empty."""
    path, _, query = sent.path.partition("?")
    headers, body = {**sent.headers, "content-type": "application/json"}, json.dumps(sent.body)
    return _make_post_call(path, query, headers=headers, body=body, session=session)


def raw_call(path: str, body: str, *, headers: Mapping[str, str], session: str) -> Call:
    """Return the POST call for a raw request, in this session unless it is empty; without headers
    it gets those of every provider."""
    path, _, query = path.partition("?")
    all_headers = {name.lower(): value for name, value in headers.items()}
    if session:
        all_headers.pop("x-mockllm-session", None)
    if not headers:
        # The path decides the provider later, so add the headers of each.
        for wire in wires_by_name().values():
            all_headers = {**wire.sample(SampleRequest("")).headers, **all_headers}
    path = quote(path, safe=SAFE_IN_PATH + "%")
    return _make_post_call(path, query, headers=all_headers, body=body, session=session)


def _make_post_call(
    path: str, query: str, *, headers: Mapping[str, str], body: str, session: str
) -> Call:
    sent = read_headers((n.encode(), v.encode("utf-8", "replace")) for n, v in headers.items())
    data = body.encode("utf-8", "replace")
    call = make_call("POST", path, query=query.encode(), headers=sent, body=data)
    return replace(call, session=session)


class ExpectedCallDocument(Document):
    """An expected tool call."""

    name: SomeText
    """The tool's name."""
    arguments: Arguments = Field(default_factory=dict)
    """Arguments it must have; it may have others."""
    input: TextShape | None = None
    """The input of a custom tool."""
    namespace: SomeText | None = None
    """The tool's namespace."""


class ExpectedDocument(Document):
    """The expected response of a turn; fields that are not set may be anything."""

    scenario: Name | None = None
    """The scenario that answers."""
    step: Name | None = None
    """The step that answers: its name, or its number from 1."""
    status: Status | None = None
    """The HTTP status. Without one, a step has to answer; a default answer does not count."""
    text: TextShape | None = None
    """The text; if the response has none, its tool calls as the journal shows them."""
    reasoning: TextShape | None = None
    """The reasoning."""
    tool_calls: list[ExpectedCallDocument] | None = None
    """All of its tool calls in order; an empty list: none."""
    cut: Flag | None = None
    """Whether the connection closes before the response is complete."""


class PlayedToolResultDocument(Document):
    """The result of a tool call."""

    name: SomeText
    """The tool. The result goes to the first call of this name that has none yet."""
    content: Text = ""
    """The text of the result."""


class RawRequestDocument(Document):
    """A complete request."""

    path: SomeText
    """The path, with its query if it has one."""
    headers: dict[str, Text] = Field(default_factory=dict)
    """Headers by name; without any, those of every provider."""
    body: JsonValue = None
    """JSON; a string is sent unchanged."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if not is_provider_path(path := self.path.partition("?")[0]):
            yield ("path",), f"no provider answers {path}"


_ANYTHING = ExpectedDocument()


class PlayedTurnDocument(Document):
    """One turn: exactly one of four kinds of request, and the expected response."""

    user: Text | None = None
    """A user message, appended to the conversation."""
    tool_results: list[PlayedToolResultDocument] | None = Field(default=None, min_length=1)
    """Results of the tools that the last response called."""
    retry: Flag = False
    """Send the previous request again, as clients do after an error."""
    request: RawRequestDocument | None = None
    """A complete request, independent of the conversation."""
    expect: ExpectedDocument = Field(default_factory=lambda: _ANYTHING)
    """The expected response."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        kinds = (self.user, self.tool_results, self.retry or None, self.request)
        if sum(kind is not None for kind in kinds) != 1:
            yield (), f"expected one of {', '.join(_TURN_KINDS)}"


class ConversationDocument(Document):
    """A conversation with one client, played in a new session."""

    name: Name = "conversation"
    """The name in reports."""
    provider: Text = "openai"
    """The provider whose API is called."""
    model: SomeText = "gpt-4o"
    """The requested model."""
    stream: Flag = False
    """Whether responses are streamed."""
    system: Text = ""
    """The system prompt."""
    tools: list[SomeText] = Field(default_factory=list)
    """Names of the offered tools."""
    turns: list[PlayedTurnDocument] = Field(min_length=1)
    """The turns in order."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.provider not in wires_by_name():
            providers = ", ".join(wires_by_name())
            message = f"{quote_json(self.provider)} is not known, expected one of {providers}"
            yield ("provider",), message
        if self.turns[0].retry:
            yield ("turns", 0, "retry"), "there was no request before"


class PlayDocument(VersionedDocument):
    """A file for `mockllm play`: conversations, and the scenarios that answer them."""

    title: Text = ""
    """The title in lists of examples."""
    description: Text = ""
    """The purpose of the example."""
    scenarios: list[AnyScenario] = Field(default_factory=list)
    """Scenarios that answer; without any, the stored ones."""
    conversations: list[ConversationDocument] = Field(min_length=1)
    """The conversations, each played in a new session."""


def read_play(data: bytes, *, source: str = "") -> PlayDocument:
    """Parse a file of conversations, or of a single one with `turns`; raises DocumentError."""
    with located(data, source=source):
        value = decode_text(data, source=source)
        if isinstance(value, dict) and "turns" in value:
            outer = {k: value.pop(k) for k in list(value) if k in ("$schema", "scenarios")}
            conversation = validate(ConversationDocument, value, source=source)
            value = {**outer, "conversations": [dump_play(conversation)]}
        return validate(PlayDocument, value, source=source)


def load_conversation(value: Json) -> ConversationDocument:
    """Validate the JSON of one conversation; raises DocumentError."""
    return validate(ConversationDocument, to_plain_json(value))


def dump_play(document: Document) -> dict[str, Json]:
    """Return the document as JSON without default values."""
    return document.model_dump(by_alias=True, exclude_defaults=True)


@dataclass(frozen=True, slots=True)
class Example:
    """A scenario with its conversation that new scenarios start from; `key` is part of its URL."""

    key: str
    title: str
    description: str
    scenario: ScenarioDocument
    conversation: ConversationDocument


@cache
def examples() -> Mapping[str, Example]:
    """Return the examples by key, in the order of the page."""
    return {one.key: one for one in map(_read_example, sorted(FOLDER.glob("*.json")))}


def _read_example(path: Path) -> Example:
    play = read_play(path.read_bytes(), source=path.name)
    (scenario,), (conversation,) = play.scenarios, play.conversations
    key = path.stem.partition("-")[2]
    return Example(key, play.title, play.description, scenario, conversation)


def journaled_conversation(name: str, rows: Iterable[ServedRequest]) -> tuple[dict[str, Json], int]:
    """Return the conversation of a session (JSON) and the number of requests left out, whose bodies
    are cut in the journal. Only POST requests that ask a model for a response count. The expected
    responses are those of the journal; if no step answered, any step is expected to."""
    turns: list[Json] = []
    left_out = 0
    for row in rows:
        path = path_with_query(row)
        if row.method != "POST" or not _generates(row, path):
            continue
        if row.request_cut:
            left_out += 1
            continue
        headers = {k: v for k, v in row.request_headers.items() if k not in _CLIENT_HEADERS}
        request: Json = {"path": path, "headers": headers, "body": json_or_text(row.request_body)}
        turns.append({"request": request, "expect": _expectation_from(row)})
    return {"name": (name.strip() or "session")[:200], "turns": turns}, left_out


def path_with_query(row: ServedRequest) -> str:
    """Return the path of a journaled request, with its query, escaped, if it has one."""
    return f"{row.path}?{urlencode(row.query)}" if row.query else row.path


def _generates(row: ServedRequest, path: str) -> bool:
    """Return True if the request asks a model for a response."""
    target = find_target(raw_call(path, row.request_body, headers=row.request_headers, session=""))
    return bool(target and target.endpoint and target.endpoint.generates)


def json_or_text(text: str) -> Json:
    """Return the value of a JSON text, or the text itself if `decode` refuses it."""
    try:
        return decode(text.encode("utf-8", "surrogatepass"))
    except DocumentError:
        return text


def _expectation_from(row: ServedRequest) -> dict[str, Json]:
    """Return the expected response of a row; {} for any, if at most the catch-all answered."""
    if not row.scenario or row.fallback:
        return {}
    expect: dict[str, Json] = {"scenario": row.scenario, "step": row.step, "status": row.status}
    if row.response_preview and row.status < 400:
        # The journal keeps only the beginning of the text.
        expect["text"] = {"startswith": row.response_preview}
    return expect
