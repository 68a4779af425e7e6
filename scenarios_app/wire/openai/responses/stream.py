"""Encodes a response as the numbered events of OpenAI's Responses."""

from collections.abc import Mapping
from itertools import count

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
    opening_body,
    output_items,
    response_body,
)
from scenarios_app.wire.openai.responses.hosted import HOSTED_ITEMS
from scenarios_app.wire.openai.responses.request import ResponseFields

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
_EMPTY_CONTENT: Mapping[str, Json] = {"text": "", "annotations": [], "logprobs": [], "refusal": ""}


class ResponseEncoder:
    """Encodes one stream, whose parts arrive strictly one after another.

    The start of a part fixes the frame of its deltas: the bytes around the number and the text.
    """

    def __init__(self, request: CanonicalRequest, response: CanonicalResponse) -> None:
        self._request = request
        self._response = response
        self._placed = output_items(request, response)
        self._numbers = count()
        own: ResponseFields = request.own
        self._obfuscated = own.obfuscated
        self._top_logprobs = own.top_logprobs
        self._has_logprobs = False
        # None during a part without deltas.
        self._frame: tuple[bytes, bytes, bytes] | None = None

    def opening(self) -> bytes:
        """Return the events before the first scripted part."""
        body = opening_body(self._request, self._response)
        sent = self._event("created", response=body)
        if body["status"] == "queued":
            sent += self._event("queued", response=body)
        sent += self._event("in_progress", response=body | {"status": "in_progress"})
        if thought := self._placed.get(UNSCRIPTED_REASONING):
            sent += self._start(thought) + self._end(thought)
        return sent

    def event(self, event: StreamEvent) -> bytes:
        """Return the events for a start, a delta or an end of a part, none for another event."""
        match event:
            case PartDelta():
                return self._encode_delta(event.text)
            case PartStart() | PartEnd() if placed := self._placed.get((event.choice, event.index)):
                return self._start(placed) if isinstance(event, PartStart) else self._end(placed)
            case _:
                return b""

    def closing(self) -> bytes:
        """Return the last event: the whole response, completed, incomplete or failed."""
        body = response_body(self._request, self._response)
        # Only whole responses have a billing field.
        body.pop("billing", None)
        status = body["status"]
        last = status if status in ("incomplete", "failed") else "completed"
        return self._event(str(last), response=body)

    def _start(self, placed: OutputItem) -> bytes:
        """Return the events that add an empty item and its content; set the frame of its deltas."""
        item = placed.item
        kind = item["type"]
        state = {"status": "in_progress"} if "status" in item else {}
        empty: Json = {**item, **state, **_EMPTY_ITEMS[kind]}
        sent = self._event("output_item.added", output_index=placed.index, item=empty)
        match kind:
            case "message":
                part: Json = {k: _EMPTY_CONTENT.get(k, v) for k, v in placed.content.items()}
                sent += self._item_event("content_part.added", placed, content_index=0, part=part)
            case "reasoning" if item["summary"]:
                added = "reasoning_summary_part.added"
                sent += self._item_event(added, placed, summary_index=0, part=_summary_json(""))
            case _ if kind in HOSTED_ITEMS:
                sent += self._item_event(f"{kind}.in_progress", placed)
        delta = placed.content["type"] if kind == "message" else kind
        has_deltas = delta in _DELTAS and streamed_text(placed.part)
        self._frame = self._make_frame(placed, *_DELTAS[delta]) if has_deltas else None
        return sent

    def _make_frame(
        self, placed: OutputItem, kind: str, *within: str
    ) -> tuple[bytes, bytes, bytes]:
        """Return the bytes of a delta's event before its number, between it and the text, and after
        that. `within` names the index fields of the part."""
        places = {"item_id": placed.item["id"], "output_index": placed.index}
        places |= dict.fromkeys(within, 0)
        name = f"response.{kind}.delta".encode()
        self._has_logprobs = kind == "output_text"
        return (
            b'event: %b\ndata: {"type":"%b","sequence_number":' % (name, name),
            b"," + encode_line(places)[1:-1] + b',"delta":',
            b"}\n\n",
        )

    def _encode_delta(self, text: str) -> bytes:
        """Return the delta event of a piece of text, or no bytes for an item without deltas."""
        if self._frame is None:
            return b""
        before, between, after = self._frame
        number = next(self._numbers)
        hidden = PADDINGS[len(text) % MAX_PADDING_CHARS] if self._obfuscated else b""
        fields = encode_text(text) + hidden
        if self._has_logprobs:
            top = self._top_logprobs
            logprobs = b"[]" if top is None else encode_line(token_logprobs(text, top))
            fields += b',"logprobs":' + logprobs
        return b"%b%d%b%b%b" % (before, number, between, fields, after)

    def _end(self, placed: OutputItem) -> bytes:
        """Return the events that complete an item."""
        item, text, sent = placed.item, streamed_text(placed.part), b""
        match item["type"]:
            case "message":
                sent = self._end_content(placed)
            case "reasoning" if item["summary"]:
                kind = "reasoning_summary_text.done"
                sent = self._item_event(kind, placed, summary_index=0, text=text)
                kind = "reasoning_summary_part.done"
                sent += self._item_event(kind, placed, summary_index=0, part=_summary_json(text))
            case "function_call":
                call = {key: item[key] for key in ("name", "arguments")}
                sent = self._item_event("function_call_arguments.done", placed, **call)
            case "custom_tool_call":
                sent = self._item_event("custom_tool_call_input.done", placed, input=item["input"])
            case kind if kind in HOSTED_ITEMS:
                sent = self._end_hosted_item(placed)
        self._frame = None
        return sent + self._event("output_item.done", output_index=placed.index, item=item)

    def _end_hosted_item(self, placed: OutputItem) -> bytes:
        """Return the events of a hosted tool's input, if it has any, and of its states."""
        item, sent = placed.item, b""
        kind = item["type"]
        hosted = HOSTED_ITEMS[kind]
        if kind == "code_interpreter_call":
            # The part streams as JSON, the code as itself.
            self._frame = self._make_frame(placed, "code_interpreter_call_code")
            sent += self._encode_delta(item["code"])
            sent += self._item_event(f"{kind}_code.done", placed, code=item["code"])
        elif kind == "mcp_call":
            sent += self._item_event(f"{kind}_arguments.done", placed, arguments=item["arguments"])
        *before, last = hosted.states
        if hosted.can_fail and item["error"] is not None:
            last = "failed"
        for state in (*before, last):
            sent += self._item_event(f"{kind}.{state}", placed)
        return sent

    def _end_content(self, placed: OutputItem) -> bytes:
        """Return the last events of a message's content: its annotations, the whole text or
        refusal, and the part."""
        part, content, sent = placed.part, placed.content, b""
        if isinstance(part, TextPart):
            for number, annotation in enumerate(content["annotations"]):
                places: dict[str, Json] = {"annotation_index": number, "annotation": annotation}
                kind = "output_text.annotation.added"
                sent += self._item_event(kind, placed, content_index=0, **places)
            text: dict[str, Json] = {"text": part.text, "logprobs": content["logprobs"]}
            sent += self._item_event("output_text.done", placed, content_index=0, **text)
            # The real API sends no log probabilities with the part.
            content = {**content, "logprobs": []}
        else:
            refusal = streamed_text(part)
            sent += self._item_event("refusal.done", placed, content_index=0, refusal=refusal)
        return sent + self._item_event("content_part.done", placed, content_index=0, part=content)

    def _item_event(self, kind: str, placed: OutputItem, **fields: Json) -> bytes:
        """Return an event about an item, or about a part of it with its index."""
        places = {"output_index": placed.index, "item_id": placed.item["id"]}
        return self._event(kind, **places, **fields)

    def _event(self, kind: str, **fields: Json) -> bytes:
        """Return an event with the next sequence number."""
        name = f"response.{kind}"
        numbered = {"type": name, "sequence_number": next(self._numbers), **fields}
        return named_sse(name, encode_line(numbered))


def _summary_json(text: str) -> Json:
    return {"type": "summary_text", "text": text}
