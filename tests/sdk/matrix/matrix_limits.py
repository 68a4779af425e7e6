"""The table of what each API cannot express, and the messages expected because of it.

`docs/wires.md` has the same table.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

from tests.sdk.matrix.matrix_messages import (
    Call,
    Message,
    Part,
    Reasoning,
    Refusal,
    Text,
    Usage,
    merge_parts,
    sort_by_kind,
)

UNCHANGED, LEFT_OUT, AS_TEXT, EMPTY_OBJECT, STOP = "kept", "left out", "text", "`{}`", "`stop`"
SEPARATE, JOINED = "each its own", "one after another, as one"
SCRIPTED_ORDER, SORTED_BY_KIND = "as scripted", "each kind together"
UNCHANGED_SINCE_GEMINI_3 = "kept; given since Gemini 3"
FILTERED = "`content_filter`"
ALL_COUNTS, TWO_COUNTS = "input, output, reasoning, cached", "input, output"
ENDINGS = ("tool_calls", "content_filter", "stop_sequence")
MILLISECONDS, SECONDS, HIDDEN = "in milliseconds", "in seconds", "not shown by its client"


def _row(name: str, usual: str = UNCHANGED) -> str:
    """Declare a row of the table with its most common value."""
    column: str = field(default=usual, metadata={"row": name})
    return column


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A column of the table: how one wire expresses each row."""

    choices: str = _row("several choices", SEPARATE)
    messages: str = _row("several messages of an instruction block", JOINED)
    order: str = _row("order of parts", SCRIPTED_ORDER)
    thoughts: str = _row("thoughts")
    signatures: str = _row("signatures of thoughts")
    encrypted: str = _row("encrypted thoughts")
    calls: str = _row("tool calls")
    ids: str = _row("ids of tool calls")
    broken_streamed: str = _row("arguments that are no JSON, streamed")
    broken_whole: str = _row("arguments that are no JSON, whole")
    refusals: str = _row("refusals")
    refusal_finish: str = _row("finish of a refusal", STOP)
    tool_calls: str = _row("finish `tool_calls`", STOP)
    content_filter: str = _row("finish `content_filter`")
    stop_sequence: str = _row("finish `stop_sequence`", STOP)
    counts: str = _row("token counts", ALL_COUNTS)
    retry: str = _row("when to come again", MILLISECONDS)
    turns: str = _row("earlier turns in the request")


_OPENAI = Limits(
    messages=SEPARATE,
    order=SORTED_BY_KIND,
    signatures=LEFT_OUT,
    encrypted=LEFT_OUT,
    tool_calls=UNCHANGED,
)
_OLLAMA = Limits(
    choices=JOINED,
    order=SORTED_BY_KIND,
    signatures=LEFT_OUT,
    encrypted=LEFT_OUT,
    ids=LEFT_OUT,
    broken_streamed=EMPTY_OBJECT,
    broken_whole=EMPTY_OBJECT,
    refusals=AS_TEXT,
    content_filter=STOP,
    counts=TWO_COUNTS,
    retry=HIDDEN,
)
LIMITS: dict[str, Limits] = {
    "OpenAI chat": _OPENAI,
    "OpenAI completions": replace(
        _OPENAI,
        thoughts=LEFT_OUT,
        calls=LEFT_OUT,
        ids=LEFT_OUT,
        broken_streamed=LEFT_OUT,
        broken_whole=LEFT_OUT,
        refusals=AS_TEXT,
        tool_calls=STOP,
        turns=LEFT_OUT,
    ),
    "OpenAI Responses": Limits(choices=JOINED),
    "Anthropic messages": Limits(
        choices=JOINED,
        broken_whole=EMPTY_OBJECT,
        refusals=AS_TEXT,
        refusal_finish=FILTERED,
        tool_calls=UNCHANGED,
        stop_sequence=UNCHANGED,
        retry=SECONDS,
    ),
    "Gemini": Limits(
        ids=UNCHANGED_SINCE_GEMINI_3,
        broken_streamed=EMPTY_OBJECT,
        broken_whole=EMPTY_OBJECT,
        refusals=AS_TEXT,
        refusal_finish=FILTERED,
    ),
    "Ollama chat": _OLLAMA,
    "Ollama generate": replace(_OLLAMA, calls=HIDDEN, broken_streamed=HIDDEN, broken_whole=HIDDEN),
}


def limit_rows() -> list[list[str]]:
    """Return the rows of the table in the docs."""
    return [
        [row.metadata["row"], *(getattr(limits, row.name) for limits in LIMITS.values())]
        for row in fields(Limits)
    ]


def expected_messages(
    scripted: tuple[Message, ...], limits: Limits, *, stream: bool, alternatives: bool
) -> tuple[Message, ...]:
    """Return the messages that a client of a wire gets for scripted ones."""
    together = limits.choices if alternatives else limits.messages
    if together == JOINED and len(scripted) > 1:
        scripted = (_join_messages(scripted),)
    return tuple(_expected_message(message, limits, stream=stream) for message in scripted)


def expected_usage(usage: Usage, limits: Limits) -> Usage:
    return usage if limits.counts == ALL_COUNTS else Usage(usage.input, usage.output)


def expected_retry_ms(milliseconds: int, limits: Limits) -> int | None:
    if limits.retry == MILLISECONDS:
        return milliseconds
    return -(-milliseconds // 1000) * 1000 if limits.retry == SECONDS else None


def _join_messages(messages: tuple[Message, ...]) -> Message:
    """Join messages; the finish is the last one's, or `tool_calls` if that is a plain stop."""
    parts = tuple(part for message in messages for part in message.parts)
    finish = messages[-1].finish
    if finish == "stop" and any(message.finish == "tool_calls" for message in messages):
        finish = "tool_calls"
    return Message(parts, finish, messages[-1].stop)


def _expected_message(message: Message, limits: Limits, *, stream: bool) -> Message:
    parts = tuple(
        expected
        for part in message.parts
        for expected in _expected_parts(part, limits, stream=stream)
    )
    parts = sort_by_kind(parts) if limits.order == SORTED_BY_KIND else tuple(merge_parts(parts))
    finish = message.finish
    if finish == "stop" and any(isinstance(part, Refusal) for part in message.parts):
        finish = limits.refusal_finish.strip("`")
    elif finish in ENDINGS and (handling := getattr(limits, finish)) != UNCHANGED:
        finish = handling.strip("`")
    return Message(parts, finish, message.stop if finish == "stop_sequence" else None)


def _expected_id(call: Call, limits: Limits) -> str | None:
    """Return the id of a call; the matrix requests Gemini 2.5, which has none."""
    if limits.ids == UNCHANGED_SINCE_GEMINI_3:
        return call.id or ""
    return call.id if limits.ids == UNCHANGED else ""


def _expected_parts(part: Part, limits: Limits, *, stream: bool) -> Iterator[Part]:
    match part:
        case Reasoning(redacted=None) if limits.thoughts == UNCHANGED:
            yield part if limits.signatures == UNCHANGED else Reasoning(part.text)
        case Reasoning(redacted=str()) if limits.encrypted == UNCHANGED:
            yield part
        case Call() if limits.calls == UNCHANGED:
            arguments = part.arguments
            if not isinstance(arguments, dict):
                handling = limits.broken_streamed if stream else limits.broken_whole
                arguments = arguments if handling == UNCHANGED else {}
            yield replace(part, arguments=arguments, id=_expected_id(part, limits))
        case Refusal():
            yield part if limits.refusals == UNCHANGED else Text(part.text)
        case Text():
            yield part
