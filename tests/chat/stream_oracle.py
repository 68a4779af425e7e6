"""An oracle for the pipeline: computes the expected answer from complete texts."""

import re
import unicodedata
from dataclasses import dataclass, field
from itertools import pairwise

from chat_app.values.events import (
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
)
from chat_app.values.model_call import (
    AssistantPart,
    CallArguments,
    CallStarted,
    Finished,
    ProviderEvent,
    TextPart,
    ThinkingPart,
)

# Marks where thinking was removed: white space that no cleaned text contains.
CUT = "\x1f"


@dataclass
class ExpectedAnswer:
    """An expected answer: its events, with neighbours of a kind joined, and its rounds."""

    events: list[StreamEvent] = field(default_factory=list)
    rounds: list[tuple[AssistantPart, ...]] = field(default_factory=list)
    end_marks: list[bool] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(event.content for event in self.events if isinstance(event, TextDelta))

    @property
    def thinking(self) -> str | None:
        thoughts = [event.content for event in self.events if isinstance(event, ThinkingDelta)]
        return "".join(thoughts) or None


@dataclass
class ScriptedPart:
    """A part of one kind: text, tagged (thinking in tags), native (thinking), call, arguments, or
    end (of a round)."""

    kind: str
    text: str
    signature: str = ""
    redacted: str = ""
    call: str = ""


def expected_answer(rounds: list[list[ProviderEvent]]) -> ExpectedAnswer:
    """Compute the expected answer of `rounds`; neighbouring events of a kind must be merged."""
    answer = ExpectedAnswer()
    parts_by_round: list[list[ScriptedPart]] = []
    ids: list[str] = []
    for events in rounds:
        parts, has_end_mark = parse_round(events, ids)
        parts_by_round.append(parts)
        answer.end_marks.append(has_end_mark)
    all_parts = [part for parts in parts_by_round for part in (*parts, ScriptedPart("end", ""))]
    answer.events = merge_events(expected_events(all_parts))
    answer.rounds = [to_assistant_parts(parts) for parts in parts_by_round]
    return answer


def parse_round(events: list[ProviderEvent], ids: list[str]) -> tuple[list[ScriptedPart], bool]:
    parts: list[ScriptedPart] = []
    names: dict[str, str] = {}
    thinking, before = False, ""
    for event in events:
        match event:
            case TextPart(text):
                new_parts, thinking, before, has_end_mark = split_thinking(
                    clean_text(text), thinking, before
                )
                parts += new_parts
                if has_end_mark:
                    return parts, True
            case ThinkingPart(text, signature, redacted):
                parts.append(ScriptedPart("native", combine_surrogates(text), signature, redacted))
            case CallStarted(call_id, name):
                unique, number = call_id, 2
                while unique in ids:
                    unique, number = f"{call_id}-{number}", number + 1
                ids.append(unique)
                names[call_id] = unique
                parts.append(ScriptedPart("call", name, call=unique))
            case CallArguments(call_id, text):
                if call_id in names:
                    parts.append(
                        ScriptedPart("arguments", clean_arguments(text), call=names[call_id])
                    )
            case Finished():
                pass
    return parts, False


def split_thinking(
    text: str, thinking: bool, before: str
) -> tuple[list[ScriptedPart], bool, str, bool]:
    """Split text into parts by its thinking tags.

    `before` is the round's earlier text, which tells whether a tag is inside code. Returns the
    parts, whether thinking is open, the text so far, and whether the end mark was met."""
    parts: list[ScriptedPart] = []

    def append_character(kind: str, character: str) -> None:
        if not parts or parts[-1].kind != kind:
            parts.append(ScriptedPart(kind, ""))
        parts[-1].text += character

    position = 0
    while position < len(text):
        if thinking:
            if tag := re.compile("␄*".join("</think>")).match(text, position):
                thinking, position = False, tag.end()
                continue
            if text[position] != "␄":
                append_character("tagged", text[position])
        elif text[position] == "␄":
            return parts, thinking, before, True
        elif text.startswith("<think>", position) and not in_code(before):
            thinking, before, position = True, before + CUT, position + len("<think>")
            continue
        else:
            append_character("text", text[position])
            before += text[position]
        position += 1
    return parts, thinking, before, False


def in_code(before: str) -> bool:
    fence = ""
    span = 0
    for line in before.split("\n"):
        span = 0
        opening = re.match(r"\s*(`{3,}|~{3,})", line)
        if opening and fence in ("", opening[1][0]):
            fence = "" if fence else opening[1][0]
            line = line[opening.end() :]
        if not fence:
            span = len(re.findall("`+", line)) % 2
    return bool(fence) or span == 1


def clean_text(text: str) -> str:
    """Remove control characters (C0, DEL and C1) but newline and tab."""
    return "".join(
        c for c in combine_surrogates(text) if c in "\n\t" or unicodedata.category(c) != "Cc"
    )


def clean_arguments(text: str) -> str:
    return "".join(c for c in combine_surrogates(text) if c in "\n\t\r" or ord(c) >= 32)


def combine_surrogates(text: str) -> str:
    def to_code_point(pair: re.Match[str]) -> str:
        high, low = map(ord, pair[0])
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))

    text = re.sub("[\ud800-\udbff][\udc00-\udfff]", to_code_point, text)
    return "".join(c for c in text if not 0xD800 <= ord(c) <= 0xDFFF)


def strip_joined(texts: list[str]) -> list[str]:
    """Strip the joined texts and move inner white space to the text that follows it."""
    joined_text = "".join(texts)
    start_of_text = len(joined_text) - len(joined_text.lstrip())
    solid_ends, position = [start_of_text], 0
    for text in texts:
        solid_ends.append(
            max(solid_ends[-1], position + len(text.rstrip())) if text.strip() else -1
        )
        if solid_ends[-1] == -1:
            solid_ends[-1] = solid_ends[-2]
        position += len(text)
    return [joined_text[start:end] for start, end in pairwise(solid_ends)]


def to_paragraphs(parts: list[ScriptedPart], *kinds: str) -> list[str]:
    """Return the texts of these kinds, with a blank line before each paragraph but the first.

    Texts between two calls or rounds are one paragraph; empty paragraphs do not count."""
    paragraphs: list[list[str]] = [[]]
    for part in parts:
        if part.kind in ("call", "end"):
            paragraphs.append([])
        elif part.kind in kinds:
            paragraphs[-1].append(clean_text(part.text).replace("␄", ""))
    result: list[str] = []
    for paragraph in paragraphs:
        texts = strip_joined(paragraph)
        if any(result) and (nonempty_texts := [text for text in texts if text]):
            texts[texts.index(nonempty_texts[0])] = f"\n\n{nonempty_texts[0]}"
        result += texts
    return result


def expected_events(parts: list[ScriptedPart]) -> list[StreamEvent]:
    texts = to_paragraphs(parts, "text")
    thoughts = to_paragraphs(parts, "tagged", "native")
    events: list[StreamEvent] = []
    for part in parts:
        match part.kind:
            case "text":
                events.append(TextDelta(texts.pop(0)))
            case "tagged" | "native":
                events.append(ThinkingDelta(thoughts.pop(0)))
            case "call":
                events.append(ToolCallStart(part.call, part.text))
            case "arguments":
                events.append(ToolCallDelta(part.call, part.text))
    return events


def merge_events(events: list[StreamEvent]) -> list[StreamEvent]:
    """Join neighbouring events of a kind and drop empty ones."""
    merged: list[StreamEvent] = []
    for event in events:
        match event, merged[-1] if merged else None:
            case ((TextDelta("") | ThinkingDelta("") | ToolCallDelta(_, "")), _):
                pass
            case TextDelta(new), TextDelta(old):
                merged[-1] = TextDelta(old + new)
            case ThinkingDelta(new), ThinkingDelta(old):
                merged[-1] = ThinkingDelta(old + new)
            case ToolCallDelta(call_id, new), ToolCallDelta(other, old) if call_id == other:
                merged[-1] = ToolCallDelta(call_id, old + new)
            case _:
                merged.append(event)
    return merged


def to_assistant_parts(scripted_parts: list[ScriptedPart]) -> tuple[AssistantPart, ...]:
    texts = strip_joined([scripted.text for scripted in scripted_parts if scripted.kind == "text"])
    arguments: dict[str, str] = {}
    for scripted in scripted_parts:
        if scripted.kind == "arguments":
            arguments[scripted.call] = arguments.get(scripted.call, "") + scripted.text
    parts: list[AssistantPart] = []
    # The last thinking part, while further parts of its kind may be joined to it.
    open_kind, raw = "", ""
    for scripted in scripted_parts:
        match scripted.kind:
            case "text":
                if text := texts.pop(0):
                    parts.append(TextPart(text))
                    open_kind = ""
            case "tagged" | "native":
                if open_kind == scripted.kind and not scripted.redacted:
                    raw += scripted.text
                    parts.pop()
                else:
                    raw = scripted.text
                thinking_text = (
                    raw if scripted.signature else clean_text(raw).replace("␄", "").strip()
                )
                parts.append(ThinkingPart(thinking_text, scripted.signature, scripted.redacted))
                open_kind = "" if scripted.signature or scripted.redacted else scripted.kind
            case "call":
                arguments_text = arguments.get(scripted.call, "")
                parts.append(
                    ToolCall(
                        scripted.call,
                        scripted.text,
                        arguments_text if arguments_text.strip() else "{}",
                    )
                )
                open_kind = ""
    return merge_texts([part for part in parts if part != ThinkingPart()])


def merge_texts(parts: list[AssistantPart]) -> tuple[AssistantPart, ...]:
    merged: list[AssistantPart] = []
    for part in parts:
        if isinstance(part, TextPart) and merged and isinstance(last := merged[-1], TextPart):
            merged[-1] = TextPart(last.text + part.text)
        else:
            merged.append(part)
    return tuple(merged)
