"""Renders `chat.completion` responses in the request's dialect.

Streams share the functions for top-level fields, finish fields and annotations.
"""

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Json
from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.logprobs import token_logprobs
from scenarios_app.wire.openai.chat_request import ChatFields
from scenarios_app.wire.openai.dialects.dialect import Dialect, Fields
from scenarios_app.wire.openai.dialects.reasoning import reasoning_fields
from scenarios_app.wire.openai.dialects.rows import DIALECTS, OPENAI
from scenarios_app.wire.openai.families import family_of, fingerprint_of
from scenarios_app.wire.openai.shared import citation_fields

# Fields that scripted metadata cannot replace.
RESERVED_FIELDS = frozenset({"object", "choices", "usage"})


def dialect_of(own: ChatFields, response: CanonicalResponse) -> Dialect:
    """Return the dialect to answer in: the request's, or if that is OpenAI's, the one that the
    step's provider names, if any."""
    if response.spoken and own.dialect is OPENAI:
        return DIALECTS.get(response.spoken, OPENAI)
    return own.dialect


def render_completion(own: ChatFields, response: CanonicalResponse) -> dict[str, Json]:
    """Return the `chat.completion` object of a response that is not streamed."""
    dialect = dialect_of(own, response)
    every = choice_fields(dialect.choice_fields, dialect, response.model)
    choices: list[Json] = []
    for index, choice in enumerate(response.choices):
        legacy = needs_legacy_call(own, choice)
        reason = finish_reason(choice.finish_reason, legacy=legacy)
        choices.append(
            {
                "index": index,
                "message": _message_json(choice, dialect, response, legacy=legacy),
                **every,
                **logprob_fields(own, content_of(choice.parts)),
                **finish_fields(dialect, response.model, reason),
            }
        )
    more = dialect.make_response_fields(response) if dialect.make_response_fields else {}
    top = top_fields(response, "chat.completion", dialect, more)
    return {**top, "choices": choices, "usage": dialect.usage(response.usage)}


def logprob_fields(own: ChatFields, text: str | None) -> Fields:
    """Return the field `logprobs` of a choice with this text, null without text; no field if log
    probabilities are not requested."""
    if own.top_logprobs is None:
        return {}
    if not text:
        return {"logprobs": None}
    return {"logprobs": {"content": token_logprobs(text, own.top_logprobs), "refusal": None}}


def finish_fields(dialect: Dialect, model: str, reason: str) -> Fields:
    """Return the finish reason and the dialect's other fields of a choice that ended."""
    extra = dialect.make_ending_fields(model, reason) if dialect.make_ending_fields else {}
    return {"finish_reason": reason, **extra}


def top_fields(
    response: CanonicalResponse, object_name: str, dialect: Dialect, more: Fields
) -> dict[str, Json]:
    """Return the top-level fields of a whole response or a chunk, without choices and usage. Later
    ones replace earlier: `more`, the dialect's, the step's metadata."""
    top: dict[str, Json] = {
        "id": _format_id(dialect.id, response),
        "object": object_name,
        "created": response.created,
        "model": response.model,
        **more,
        **dialect.top_fields,
    }
    if dialect.make_top_fields:
        top |= dialect.make_top_fields(response)
    if dialect.fingerprint is not None:
        top["system_fingerprint"] = _fingerprint(dialect.fingerprint, response.model)
    if response.metadata:
        top |= {k: v for k, v in response.metadata.items() if k not in RESERVED_FIELDS}
    return top


def _format_id(form: str, response: CanonicalResponse) -> str:
    """Return a response id in the form of the dialect, such as `chatcmpl-{hex}`."""
    hex_id = response.id
    if form == "chatcmpl-{hex}":
        return f"chatcmpl-{hex_id}"
    return form.format(
        hex=hex_id,
        uuid=f"{hex_id[:8]}-{hex_id[8:12]}-{hex_id[12:16]}-{hex_id[16:20]}-{hex_id[20:]}",
        short=hex_id[:20],
        created=response.created,
        number=int(hex_id[:8] or "0", 16) % 1000,
    )


def _fingerprint(rule: str, model: str) -> str | None:
    """Return a model's system fingerprint by its dialect's rule: `made` from the name, `family` too
    if the model's family has one, else None; any other rule is the fingerprint."""
    if rule == "family" and not family_of(model).fingerprint:
        return None
    return fingerprint_of(model) if rule in ("family", "made") else rule


def choice_fields(fields: Fields, dialect: Dialect, model: str) -> Fields:
    """Return the dialect's `fields` of every choice, without logprobs if the model's family has
    none."""
    if not dialect.logprobs_by_family or family_of(model).logprobs:
        return fields
    return {key: value for key, value in fields.items() if key != "logprobs"}


def finish_reason(reason: FinishReason, *, legacy: bool) -> str:
    """Return a finish reason as chat completions name it; `legacy`: the call is a
    `function_call`."""
    if reason == "stop_sequence":
        return "stop"
    return "function_call" if legacy and reason == "tool_calls" else reason


def needs_legacy_call(own: ChatFields, choice: Choice) -> bool:
    """Return whether a choice has a legacy `function_call`: the client offered only `functions`,
    and the choice has one call, of a function."""
    calls = [part for part in choice.parts if isinstance(part, ToolCallPart)]
    return own.legacy_functions and len(calls) == 1 and not calls[0].custom


def content_of(parts: tuple[AnswerPart, ...]) -> str | None:
    """Return the text of a message, or None if it has calls or a refusal and no text."""
    text = "".join(part.text for part in parts if isinstance(part, TextPart))
    replaced = any(isinstance(part, ToolCallPart | RefusalPart) for part in parts)
    return None if replaced and not text else text


def annotations_of(parts: tuple[AnswerPart, ...], index: int) -> list[Json]:
    """Return the cited pages of the part at `index`, with offsets into the message's content; empty
    if it is no text. The API has no citations of documents."""
    part = parts[index]
    if not isinstance(part, TextPart) or not part.citations:
        return []
    before = sum(len(p.text) for p in parts[:index] if isinstance(p, TextPart))
    pages = (each for each in part.citations if not each.document)
    cited = (citation_fields(each, part.text, before=before) for each in pages)
    return [{"type": "url_citation", "url_citation": fields} for fields in cited]


def _message_json(
    choice: Choice,
    dialect: Dialect,
    response: CanonicalResponse,
    *,
    legacy: bool,
) -> dict[str, Json]:
    """Return the message of a choice, in the fields of the dialect; if `legacy`, with its call as
    `function_call`."""
    parts = choice.parts
    content = content_of(parts)
    content_field: Fields = {"content": content}
    calls = [p for p in parts if isinstance(p, ToolCallPart)]
    if content is None and calls:
        content_field = dialect.tool_call_content
    message: dict[str, Json] = {"role": "assistant", **content_field, **dialect.message_fields}
    if refusal := "".join(p.text for p in parts if isinstance(p, RefusalPart)):
        message["refusal"] = refusal
    if sources := [a for index in range(len(parts)) for a in annotations_of(parts, index)]:
        message["annotations"] = sources
    if thoughts := [p for p in parts if isinstance(p, ReasoningPart)]:
        message |= reasoning_fields(dialect.reasoning, thoughts, response.model, content)
    if legacy:
        message["function_call"] = {"name": calls[0].name, "arguments": calls[0].arguments}
    elif calls:
        message["tool_calls"] = [
            {
                **({"index": number} if dialect.call_index else {}),
                **call_fields(call, call.arguments, typed=dialect.call_type),
            }
            for number, call in enumerate(calls)
        ]
    return message


def call_fields(call: ToolCallPart, text: str, *, typed: bool) -> dict[str, Json]:
    """Return the JSON of a call with `text` as its arguments or input. A call of a function has
    its type only if `typed`."""
    if call.custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}
    kind: dict[str, Json] = {"type": "function"} if typed else {}
    return {"id": call.id, **kind, "function": {"name": call.name, "arguments": text}}
