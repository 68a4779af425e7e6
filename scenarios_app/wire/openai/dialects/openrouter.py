"""The vendors behind OpenRouter, by the prefix of a model's name, and their reasoning formats."""

from collections.abc import Mapping

import msgspec

from scenarios_app.engine.canonical import CanonicalResponse, Json
from scenarios_app.engine.parts import ReasoningPart
from scenarios_app.wire.base import encode_json
from scenarios_app.wire.openai.dialects.dialect import Fields
from scenarios_app.wire.openai.obfuscation import make_opaque_text


class Vendor(msgspec.Struct, frozen=True):
    """A vendor behind OpenRouter: its finish reasons, and the format of its reasoning, which is
    summarized and encrypted if `is_summarized`."""

    title: str
    form: str = "unknown"
    is_summarized: bool = False
    reasons: Mapping[str, str] = {}


_OTHER = Vendor("Together")
VENDORS: Mapping[str, Vendor] = {
    "openai": Vendor("OpenAI", "openai-responses-v1", is_summarized=True),
    "anthropic": Vendor(
        "Anthropic",
        "anthropic-claude-v1",
        reasons={"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"},
    ),
    "google": Vendor(
        "Google",
        "google-gemini-v1",
        reasons={
            "stop": "STOP",
            "length": "MAX_TOKENS",
            "tool_calls": "STOP",
            "content_filter": "SAFETY",
        },
    ),
    "mistralai": Vendor("Mistral"),
    "deepseek": Vendor("DeepSeek"),
    "x-ai": Vendor("xAI", "xai-responses-v1", is_summarized=True),
}


def vendor_of(model: str) -> Vendor:
    """Return the vendor that the first segment of a model's name stands for, or the default one."""
    return VENDORS.get(model.partition("/")[0], _OTHER)


def provider_field(response: CanonicalResponse) -> Fields:
    """Return the response field `provider`, with the title of the model's vendor."""
    return {"provider": vendor_of(response.model).title}


def native_finish_field(model: str, reason: str) -> Fields:
    """Return the field `native_finish_reason`, in the terms of the model's vendor."""
    return {"native_finish_reason": vendor_of(model).reasons.get(reason, reason)}


def reasoning_details(part: ReasoningPart, model: str, index: int) -> list[dict[str, Json]]:
    """Return a block of reasoning as items of `reasoning_details`: a text with its signature, or a
    summary and encrypted data, by the vendor. `index` is the number of the block in its message."""
    vendor = vendor_of(model)
    details: list[dict[str, Json]] = []
    if vendor.is_summarized:
        data = part.redacted or part.signature or make_opaque_text(part.text)
        if part.text:
            details.append({"type": "reasoning.summary", "summary": part.text})
        details.append({"type": "reasoning.encrypted", "data": data, "id": f"rs_{index}"})
    elif part.redacted is not None:
        details.append({"type": "reasoning.encrypted", "data": part.redacted})
    else:
        signed: dict[str, Json] = {} if part.signature is None else {"signature": part.signature}
        text: dict[str, Json] = {"text": part.text} if part.text else {}
        details.append({"type": "reasoning.text", **text, **signed})
    return [{**each, "format": vendor.form, "index": index} for each in details]


def detail_frame(model: str, index: int) -> tuple[bytes, bytes]:
    """Return the bytes before and after the encoded text of a streamed `reasoning_details` item."""
    vendor = vendor_of(model)
    kind = b"summary" if vendor.is_summarized else b"text"
    form = encode_json({"format": vendor.form, "index": index})[1:]
    return b'{"type":"reasoning.%b","%b":' % (kind, kind), b"," + form


def closing_details(part: ReasoningPart, model: str, index: int) -> list[Json]:
    """Return the `reasoning_details` items that follow the streamed text of a block; may be
    empty."""
    return [
        {key: value for key, value in detail.items() if key != "text"}
        for detail in reasoning_details(part, model, index)
        if "data" in detail or "signature" in detail
    ]
