"""What each wire makes of what it has no word for: the one table of it, and what follows for an
answer. `docs/wires.md` says the same to people."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

from tests.sdk.matrix.matrix_said import (
    Call,
    Part,
    Refusal,
    Said,
    Text,
    Thought,
    Usage,
    by_kind,
    merged,
)

KEPT, OUT, TEXT, EMPTY, WHOLE, STOP = "kept", "left out", "text", "`{}`", "in one piece", "`stop`"
APART, ONE = "each its own", "one after another, as one"
SCRIPTED, KINDS = "as scripted", "each kind together"
GIVEN = "kept; given since Gemini 3"
FILTERED = "`content_filter`"
ALL_COUNTS, TWO_COUNTS = "input, output, reasoning, cached", "input, output"
ENDINGS = ("tool_calls", "content_filter", "stop_sequence")
MILLISECONDS, SECONDS, HIDDEN = "in milliseconds", "in seconds", "not shown by its client"


def _row(name: str, usual: str = KEPT) -> str:
    """A row of the table, and what most wires make of it."""
    made: str = field(default=usual, metadata={"row": name})
    return made


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A column of the table: what one wire makes of each thing."""

    choices: str = _row("several choices", APART)
    messages: str = _row("several messages of an instruction block", ONE)
    order: str = _row("order of parts", SCRIPTED)
    thoughts: str = _row("thoughts")
    signatures: str = _row("signatures of thoughts")
    encrypted: str = _row("encrypted thoughts")
    calls: str = _row("tool calls")
    ids: str = _row("ids of tool calls")
    broken_streamed: str = _row("arguments that are no JSON, streamed")
    broken_whole: str = _row("arguments that are no JSON, whole")
    refusals: str = _row("refusals")
    refused: str = _row("finish of a refusal", STOP)
    tool_calls: str = _row("finish `tool_calls`", STOP)
    content_filter: str = _row("finish `content_filter`")
    stop_sequence: str = _row("finish `stop_sequence`", STOP)
    counts: str = _row("token counts", ALL_COUNTS)
    retry: str = _row("when to come again", MILLISECONDS)
    turns: str = _row("earlier turns in the request")


_OPENAI = Limits(messages=APART, order=KINDS, signatures=OUT, encrypted=OUT, tool_calls=KEPT)
_OLLAMA = Limits(
    choices=ONE,
    order=KINDS,
    signatures=OUT,
    encrypted=OUT,
    ids=OUT,
    broken_streamed=EMPTY,
    broken_whole=EMPTY,
    refusals=TEXT,
    content_filter=STOP,
    counts=TWO_COUNTS,
    retry=HIDDEN,
)
LIMITS: dict[str, Limits] = {
    "OpenAI chat": _OPENAI,
    "OpenAI completions": replace(
        _OPENAI,
        thoughts=OUT,
        calls=OUT,
        ids=OUT,
        broken_streamed=OUT,
        broken_whole=OUT,
        refusals=TEXT,
        tool_calls=STOP,
        turns=OUT,
    ),
    "OpenAI Responses": Limits(choices=ONE),
    "Anthropic messages": Limits(
        choices=ONE,
        broken_whole=EMPTY,
        refusals=TEXT,
        refused=FILTERED,
        tool_calls=KEPT,
        stop_sequence=KEPT,
        retry=SECONDS,
    ),
    "Gemini": Limits(
        ids=GIVEN,
        broken_streamed=EMPTY,
        broken_whole=EMPTY,
        refusals=TEXT,
        refused=FILTERED,
    ),
    "Ollama chat": _OLLAMA,
    "Ollama generate": replace(_OLLAMA, calls=HIDDEN, broken_streamed=HIDDEN, broken_whole=HIDDEN),
}


def table() -> list[list[str]]:
    """The table as it stands in the docs: a row for each line of it."""
    return [
        [row.metadata["row"], *(getattr(limits, row.name) for limits in LIMITS.values())]
        for row in fields(Limits)
    ]


def told(
    scripted: tuple[Said, ...], limits: Limits, *, stream: bool, alternatives: bool
) -> tuple[Said, ...]:
    """What a client of a wire is told of messages that are scripted so."""
    together = limits.choices if alternatives else limits.messages
    if together == ONE and len(scripted) > 1:
        scripted = (_as_one(scripted),)
    return tuple(_told(said, limits, stream=stream) for said in scripted)


def counted(usage: Usage, limits: Limits) -> Usage:
    return usage if limits.counts == ALL_COUNTS else Usage(usage.input, usage.output)


def retry_of(milliseconds: int, limits: Limits) -> int | None:
    if limits.retry == MILLISECONDS:
        return milliseconds
    return -(-milliseconds // 1000) * 1000 if limits.retry == SECONDS else None


def _as_one(several: tuple[Said, ...]) -> Said:
    """The last one tells how it ended; where that is a plain end, calls that anyone makes do."""
    parts = tuple(part for said in several for part in said.parts)
    finish = several[-1].finish
    if finish == "stop" and any(said.finish == "tool_calls" for said in several):
        finish = "tool_calls"
    return Said(parts, finish, several[-1].stop)


def _told(said: Said, limits: Limits, *, stream: bool) -> Said:
    parts = tuple(made for part in said.parts for made in _made(part, limits, stream=stream))
    parts = by_kind(parts) if limits.order == KINDS else tuple(merged(parts))
    finish = said.finish
    if finish == "stop" and any(isinstance(part, Refusal) for part in said.parts):
        finish = limits.refused.strip("`")
    elif finish in ENDINGS and (way := getattr(limits, finish)) != KEPT:
        finish = way.strip("`")
    return Said(parts, finish, said.stop if finish == "stop_sequence" else None)


def _id(call: Call, limits: Limits) -> str | None:
    """The matrix asks Gemini 2.5, which gives none."""
    if limits.ids == GIVEN:
        return call.id or ""
    return call.id if limits.ids == KEPT else ""


def _made(part: Part, limits: Limits, *, stream: bool) -> Iterator[Part]:
    match part:
        case Thought(redacted=None) if limits.thoughts == KEPT:
            yield part if limits.signatures == KEPT else Thought(part.text)
        case Thought(redacted=str()) if limits.encrypted == KEPT:
            yield part
        case Call() if limits.calls == KEPT:
            arguments = part.arguments
            if not isinstance(arguments, dict):
                broken = limits.broken_streamed if stream else limits.broken_whole
                arguments = arguments if broken == KEPT else {}
            yield replace(part, arguments=arguments, id=_id(part, limits))
        case Refusal():
            yield part if limits.refusals == KEPT else Text(part.text)
        case Text():
            yield part
