"""An oracle for the pipeline: computes an answer from its whole texts."""

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

# Marks a place where thinking was removed. White space that no cleaned text contains.
CUT = "\x1f"


@dataclass
class Whole:
    """An answer as it must be: its events with neighbours of a kind joined, and its rounds."""

    events: list[StreamEvent] = field(default_factory=list)
    rounds: list[tuple[AssistantPart, ...]] = field(default_factory=list)
    ended: list[bool] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(event.content for event in self.events if isinstance(event, TextDelta))

    @property
    def thinking(self) -> str | None:
        thoughts = [event.content for event in self.events if isinstance(event, ThinkingDelta)]
        return "".join(thoughts) or None


@dataclass
class ScriptedPart:
    """A stretch of one kind: text, tagged (thinking in tags), native, call, arguments, or the end
    of a round."""

    kind: str
    text: str
    signature: str = ""
    redacted: str = ""
    call: str = ""


def whole(rounds: list[list[ProviderEvent]]) -> Whole:
    """`rounds` in as few pieces as can be: no two neighbours that could be one."""
    answer = Whole()
    said: list[list[ScriptedPart]] = []
    ids: list[str] = []
    for events in rounds:
        stretches, ended = said_in(events, ids)
        said.append(stretches)
        answer.ended.append(ended)
    everything = [one for stretches in said for one in (*stretches, ScriptedPart("end", ""))]
    answer.events = joined(expected_events(everything))
    answer.rounds = [parts_of(stretches) for stretches in said]
    return answer


def said_in(events: list[ProviderEvent], ids: list[str]) -> tuple[list[ScriptedPart], bool]:
    found: list[ScriptedPart] = []
    names: dict[str, str] = {}
    thinking, before = False, ""
    for event in events:
        match event:
            case TextPart(text):
                stretches, thinking, before, ended = split(cleaned(text), thinking, before)
                found += stretches
                if ended:
                    return found, True
            case ThinkingPart(text, signature, redacted):
                found.append(ScriptedPart("native", paired(text), signature, redacted))
            case CallStarted(call_id, name):
                unique, number = call_id, 2
                while unique in ids:
                    unique, number = f"{call_id}-{number}", number + 1
                ids.append(unique)
                names[call_id] = unique
                found.append(ScriptedPart("call", name, call=unique))
            case CallArguments(call_id, text):
                if call_id in names:
                    found.append(ScriptedPart("arguments", for_json(text), call=names[call_id]))
            case Finished():
                pass
    return found, False


def split(text: str, thinking: bool, before: str) -> tuple[list[ScriptedPart], bool, str, bool]:
    """Character by character; `before` is the round's text until here, to know code by."""
    found: list[ScriptedPart] = []

    def put(kind: str, character: str) -> None:
        if not found or found[-1].kind != kind:
            found.append(ScriptedPart(kind, ""))
        found[-1].text += character

    at = 0
    while at < len(text):
        if thinking:
            if tag := re.compile("␄*".join("</think>")).match(text, at):
                thinking, at = False, tag.end()
                continue
            if text[at] != "␄":
                put("tagged", text[at])
        elif text[at] == "␄":
            return found, thinking, before, True
        elif text.startswith("<think>", at) and not in_code(before):
            thinking, before, at = True, before + CUT, at + len("<think>")
            continue
        else:
            put("text", text[at])
            before += text[at]
        at += 1
    return found, thinking, before, False


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


def cleaned(text: str) -> str:
    """`Cc` is C0, DEL and C1."""
    return "".join(c for c in paired(text) if c in "\n\t" or unicodedata.category(c) != "Cc")


def for_json(text: str) -> str:
    return "".join(c for c in paired(text) if c in "\n\t\r" or ord(c) >= 32)


def paired(text: str) -> str:
    def one(pair: re.Match[str]) -> str:
        high, low = map(ord, pair[0])
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))

    text = re.sub("[\ud800-\udbff][\udc00-\udfff]", one, text)
    return "".join(c for c in text if not 0xD800 <= ord(c) <= 0xDFFF)


def edged(texts: list[str]) -> list[str]:
    """The texts, the whole stripped, white space in front of the text that follows it."""
    everything = "".join(texts)
    begin = len(everything) - len(everything.lstrip())
    solid_ends, at = [begin], 0
    for text in texts:
        solid_ends.append(max(solid_ends[-1], at + len(text.rstrip())) if text.strip() else -1)
        if solid_ends[-1] == -1:
            solid_ends[-1] = solid_ends[-2]
        at += len(text)
    return [everything[start:end] for start, end in pairwise(solid_ends)]


def in_paragraphs(said: list[ScriptedPart], *kinds: str) -> list[str]:
    """The texts of these kinds. Between two calls or rounds they are one paragraph; there is a
    blank line before each but the first of those that say something."""
    paragraphs: list[list[str]] = [[]]
    for one in said:
        if one.kind in ("call", "end"):
            paragraphs.append([])
        elif one.kind in kinds:
            paragraphs[-1].append(cleaned(one.text).replace("␄", ""))
    found: list[str] = []
    for paragraph in paragraphs:
        texts = edged(paragraph)
        if any(found) and (said_here := [text for text in texts if text]):
            texts[texts.index(said_here[0])] = f"\n\n{said_here[0]}"
        found += texts
    return found


def expected_events(said: list[ScriptedPart]) -> list[StreamEvent]:
    texts = in_paragraphs(said, "text")
    thoughts = in_paragraphs(said, "tagged", "native")
    events: list[StreamEvent] = []
    for one in said:
        match one.kind:
            case "text":
                events.append(TextDelta(texts.pop(0)))
            case "tagged" | "native":
                events.append(ThinkingDelta(thoughts.pop(0)))
            case "call":
                events.append(ToolCallStart(one.call, one.text))
            case "arguments":
                events.append(ToolCallDelta(one.call, one.text))
    return events


def joined(events: list[StreamEvent]) -> list[StreamEvent]:
    """Neighbours of a kind as one, empty ones left out."""
    found: list[StreamEvent] = []
    for event in events:
        match event, found[-1] if found else None:
            case ((TextDelta("") | ThinkingDelta("") | ToolCallDelta(_, "")), _):
                pass
            case TextDelta(new), TextDelta(old):
                found[-1] = TextDelta(old + new)
            case ThinkingDelta(new), ThinkingDelta(old):
                found[-1] = ThinkingDelta(old + new)
            case ToolCallDelta(call_id, new), ToolCallDelta(other, old) if call_id == other:
                found[-1] = ToolCallDelta(call_id, old + new)
            case _:
                found.append(event)
    return found


def parts_of(said: list[ScriptedPart]) -> tuple[AssistantPart, ...]:
    texts = edged([one.text for one in said if one.kind == "text"])
    arguments: dict[str, str] = {}
    for one in said:
        if one.kind == "arguments":
            arguments[one.call] = arguments.get(one.call, "") + one.text
    parts: list[AssistantPart] = []
    # Thinking that further pieces of its kind may join: its kind, and its raw text.
    open_kind, raw = "", ""
    for one in said:
        match one.kind:
            case "text":
                if text := texts.pop(0):
                    parts.append(TextPart(text))
                    open_kind = ""
            case "tagged" | "native":
                if open_kind == one.kind and not one.redacted:
                    raw += one.text
                    parts.pop()
                else:
                    raw = one.text
                kept = raw if one.signature else cleaned(raw).replace("␄", "").strip()
                parts.append(ThinkingPart(kept, one.signature, one.redacted))
                open_kind = "" if one.signature or one.redacted else one.kind
            case "call":
                written = arguments.get(one.call, "")
                parts.append(ToolCall(one.call, one.text, written if written.strip() else "{}"))
                open_kind = ""
    return united([part for part in parts if part != ThinkingPart()])


def united(parts: list[AssistantPart]) -> tuple[AssistantPart, ...]:
    found: list[AssistantPart] = []
    for part in parts:
        if isinstance(part, TextPart) and found and isinstance(last := found[-1], TextPart):
            found[-1] = TextPart(last.text + part.text)
        else:
            found.append(part)
    return tuple(found)
