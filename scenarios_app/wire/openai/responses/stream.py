"""Encodes a response as the numbered events of OpenAI's Responses."""

from collections.abc import Mapping

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Json
from scenarios_app.engine.parts import (
    PartDelta,
    PartEnd,
    PartStart,
    StreamEvent,
    TextPart,
    streamed_text,
)
from scenarios_app.wire.base import encode_line, encode_text, named_sse
from scenarios_app.wire.logprobs import token_logprobs
from scenarios_app.wire.openai.obfuscation import MAX_PADDING_CHARS, PADDINGS
from scenarios_app.wire.openai.responses.answer import (
    UNSCRIPTED_REASONING,
    OutputItem,
    annotations_of,
    opening_body,
    output_items,
    response_body,
)
from scenarios_app.wire.openai.responses.hosted import HOSTED_ITEMS
from scenarios_app.wire.openai.responses.request import ResponseFields

_FINAL_EVENTS = {"incomplete": "response.incomplete", "failed": "response.failed"}
_SUMMARY: dict[str, Json] = {"type": "summary_text"}
# The name of each kind's delta events, and the index field that they have.
_DELTAS: Mapping[str, tuple[str, ...]] = {
    "output_text": ("output_text", "content_index"),
    "refusal": ("refusal", "content_index"),
    "reasoning": ("reasoning_summary_text", "summary_index"),
    "function_call": ("function_call_arguments",),
    "custom_tool_call": ("custom_tool_call_input",),
    "mcp_call": ("mcp_call_arguments",),
}
_EMPTY_ITEMS: Mapping[str, dict[str, Json]] = {
    "message": {"content": []},
    "reasoning": {"summary": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
    **{kind: dict(hosted.empty) for kind, hosted in HOSTED_ITEMS.items()},
}
_EMPTY_CONTENT: Mapping[str, Json] = {
    "text": "",
    "annotations": [],
    "logprobs": [],
    "refusal": "",
}


class ResponseEncoder:
    """Encodes one stream, whose parts arrive strictly one after another.

    The start of a part fixes the frame of its deltas: the bytes around the number and the text.
    """

    def __init__(self, request: CanonicalRequest, response: CanonicalResponse) -> None:
        self._request = request
        self._response = response
        self._placed = output_items(request, response)
        self._sent = 0
        own: ResponseFields = request.own
        self._obfuscated = own.obfuscated
        self._top_logprobs = own.top_logprobs
        # True if the open part's deltas have log probabilities.
        self._told = False
        # None during a part without deltas.
        self._frame: tuple[bytes, bytes, bytes] | None = None

    def opening(self) -> bytes:
        body = opening_body(self._request, self._response)
        sent = b""
        for state in ("created", "queued", "in_progress"):
            if state == "queued" and body["status"] != state:
                continue
            if state == "in_progress":
                body = body | {"status": state}
            sent += self._event(f"response.{state}", response=body)
        if thought := self._placed.get(UNSCRIPTED_REASONING):
            sent += self._start(thought) + self._end(thought)
        return sent

    def event(self, event: StreamEvent) -> bytes:
        match event:
            case PartDelta():
                return self._delta(event.text)
            case PartStart() | PartEnd() if placed := self._placed.get((event.choice, event.index)):
                return self._start(placed) if isinstance(event, PartStart) else self._end(placed)
            case _:
                return b""

    def closing(self) -> bytes:
        body = response_body(self._request, self._response)
        # Only whole responses have a billing field.
        body.pop("billing", None)
        last = _FINAL_EVENTS.get(str(body["status"]), "response.completed")
        return self._event(last, response=body)

    def _start(self, placed: OutputItem) -> bytes:
        item = placed.item
        sent = self._of_output("response.output_item.added", placed, item=_empty_item(item))
        match item["type"]:
            case "message":
                kind = "response.content_part.added"
                sent += self._of_content(kind, placed, part=_empty_content(placed.content))
            case "reasoning" if item["summary"]:
                kind, part = "response.reasoning_summary_part.added", {**_SUMMARY, "text": ""}
                sent += self._of_summary(kind, placed, part=part)
            case kind if kind in HOSTED_ITEMS:
                sent += self._of_item(f"response.{kind}.in_progress", placed)
        self._frame = self._framed(placed)
        return sent

    def _framed(self, placed: OutputItem) -> tuple[bytes, bytes, bytes] | None:
        """Return the bytes before a delta's number, between it and the text, and after that."""
        if not streamed_text(placed.part) or (kind_key := _delta_kind(placed)) not in _DELTAS:
            return None
        return self._make_frame(placed, *_DELTAS[kind_key])

    def _make_frame(
        self, placed: OutputItem, kind: str, *within: str
    ) -> tuple[bytes, bytes, bytes]:
        places: dict[str, Json] = {"item_id": placed.item["id"], "output_index": placed.index}
        places |= dict.fromkeys(within, 0)
        name = f"response.{kind}.delta".encode()
        self._told = kind == "output_text"
        return (
            b'event: %b\ndata: {"type":"%b","sequence_number":' % (name, name),
            b"," + encode_line(places)[1:-1] + b',"delta":',
            b"}\n\n",
        )

    def _delta(self, text: str) -> bytes:
        if self._frame is None:
            return b""
        before, between, after = self._frame
        number = self._sent
        self._sent += 1
        hidden = PADDINGS[len(text) % MAX_PADDING_CHARS] if self._obfuscated else b""
        fields = encode_text(text) + hidden
        if self._told:
            fields += self._logprobs(text)
        return b"%b%d%b%b%b" % (before, number, between, fields, after)

    def _logprobs(self, text: str) -> bytes:
        if self._top_logprobs is None:
            return b',"logprobs":[]'
        return b',"logprobs":' + encode_line(token_logprobs(text, self._top_logprobs))

    def _end(self, placed: OutputItem) -> bytes:
        self._frame = None
        item, part = placed.item, placed.part
        match item["type"]:
            case "message":
                sent = self._content_done(placed)
            case "reasoning" if item["summary"]:
                text = streamed_text(part)
                sent = self._of_summary("response.reasoning_summary_text.done", placed, text=text)
                done: Json = {**_SUMMARY, "text": text}
                sent += self._of_summary("response.reasoning_summary_part.done", placed, part=done)
            case "function_call":
                kind = "response.function_call_arguments.done"
                call = {key: item[key] for key in ("name", "arguments")}
                sent = self._of_item(kind, placed, **call)
            case "custom_tool_call":
                kind = "response.custom_tool_call_input.done"
                sent = self._of_item(kind, placed, input=item["input"])
            case kind if kind in HOSTED_ITEMS:
                sent = self._hosted_done(placed)
            case _:
                sent = b""
        return sent + self._of_output("response.output_item.done", placed, item=item)

    def _hosted_done(self, placed: OutputItem) -> bytes:
        """Return what a hosted tool got, and its states up to the last one."""
        item, sent = placed.item, b""
        kind = str(item["type"])
        hosted = HOSTED_ITEMS[kind]
        match kind:
            case "code_interpreter_call":
                # The part streams as JSON, the code as itself.
                self._frame = self._make_frame(placed, "code_interpreter_call_code")
                sent += self._delta(str(item["code"]))
                self._frame = None
                event = "response.code_interpreter_call_code.done"
                sent += self._of_item(event, placed, code=item["code"])
            case "mcp_call":
                event = "response.mcp_call_arguments.done"
                sent += self._of_item(event, placed, arguments=item["arguments"])
        *before, last = hosted.states
        if hosted.can_fail and item.get("error") is not None:
            last = "failed"
        for state in (*before, last):
            sent += self._of_item(f"response.{kind}.{state}", placed)
        return sent

    def _content_done(self, placed: OutputItem) -> bytes:
        part, sent = placed.part, b""
        assert placed.content is not None
        if isinstance(part, TextPart):
            for number, annotation in enumerate(annotations_of(part)):
                kind = "response.output_text.annotation.added"
                places: dict[str, Json] = {"annotation_index": number, "annotation": annotation}
                sent += self._of_content(kind, placed, **places)
            kind, text = "response.output_text.done", part.text
            logprobs = placed.content["logprobs"]
            sent += self._of_content(kind, placed, text=text, logprobs=logprobs)
        else:
            refusal = streamed_text(part)
            sent += self._of_content("response.refusal.done", placed, refusal=refusal)
        kind = "response.content_part.done"
        # The real API sends no log probabilities here.
        content: Json = {key: [] if key == "logprobs" else v for key, v in placed.content.items()}
        return sent + self._of_content(kind, placed, part=content)

    def _of_output(self, kind: str, placed: OutputItem, **fields: Json) -> bytes:
        return self._event(kind, output_index=placed.index, **fields)

    def _of_item(self, kind: str, placed: OutputItem, **fields: Json) -> bytes:
        return self._of_output(kind, placed, item_id=placed.item["id"], **fields)

    def _of_content(self, kind: str, placed: OutputItem, **fields: Json) -> bytes:
        return self._of_item(kind, placed, content_index=0, **fields)

    def _of_summary(self, kind: str, placed: OutputItem, **fields: Json) -> bytes:
        return self._of_item(kind, placed, summary_index=0, **fields)

    def _event(self, kind: str, **fields: Json) -> bytes:
        number = self._sent
        self._sent += 1
        return named_sse(kind, encode_line({"type": kind, "sequence_number": number, **fields}))


def _delta_kind(placed: OutputItem) -> str:
    """Return the kind of an item's deltas."""
    if placed.content is not None:
        return str(placed.content["type"])
    return str(placed.item["type"])


def _empty_item(item: dict[str, Json]) -> dict[str, Json]:
    """Return an item at its start, without content."""
    state: dict[str, Json] = {"status": "in_progress"} if "status" in item else {}
    return item | state | _EMPTY_ITEMS[str(item["type"])]


def _empty_content(content: dict[str, Json] | None) -> Json:
    """Return the content of a message at its start."""
    return {key: _EMPTY_CONTENT.get(key, value) for key, value in (content or {}).items()}
