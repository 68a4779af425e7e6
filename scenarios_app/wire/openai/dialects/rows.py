"""The dialects of OpenAI's API, one value each."""

from collections.abc import Mapping
from dataclasses import replace

from scenarios_app.engine.canonical import CanonicalResponse, Json
from scenarios_app.wire.base import encode_json, sse
from scenarios_app.wire.openai.dialects import errors, usages
from scenarios_app.wire.openai.dialects.dialect import Dialect
from scenarios_app.wire.openai.dialects.openrouter import native_finish_field, provider_field
from scenarios_app.wire.openai.sample import MODELS
from scenarios_app.wire.openai.shared import (
    AZURE_PREFIXES,
    OPENAI_ERRORS,
    answer_headers,
    error_envelope,
)
from scenarios_app.wire.openai.upstream import AZURE, PROVIDER, upstream_of

OPENAI = Dialect(
    name=PROVIDER,
    title="OpenAI chat",
    provider=PROVIDER,
    path_prefixes=("/v1/",),
    upstream=upstream_of(PROVIDER),
    models=MODELS,
    id="chatcmpl-{hex}",
    fingerprint="family",
    reasoning="reasoning",
    top_fields={"service_tier": "default"},
    message_fields={"refusal": None, "annotations": []},
    choice_fields={"logprobs": None},
    logprobs_by_family=True,
    first_delta_fields={"refusal": None},
    chunk_choice_fields={"logprobs": None},
    obfuscated=True,
    compact_call=True,
    usage=usages.openai_usage,
    usage_null=True,
    provider_tools=False,
    error=error_envelope,
    own_errors=OPENAI_ERRORS,
    headers=answer_headers,
)

_SAFE: Json = {"filtered": False, "severity": "safe"}
_FILTERED: Mapping[str, Json] = dict.fromkeys(("hate", "self_harm", "sexual", "violence"), _SAFE)
_DETECTED: Json = {"filtered": False, "detected": False}
_PROMPT: Json = [
    {"prompt_index": 0, "content_filter_results": {**_FILTERED, "jailbreak": _DETECTED}}
]
_PROMPT_EVENT: Json = {
    "choices": [],
    "created": 0,
    "id": "",
    "model": "",
    "object": "chat.completion.chunk",
    "prompt_filter_results": _PROMPT,
}

AZURE_OPENAI = replace(
    OPENAI,
    name="azure",
    title="Azure OpenAI",
    path_prefixes=AZURE_PREFIXES,
    upstream=AZURE,
    fingerprint="made",
    top_fields={},
    make_response_fields=lambda response: {"prompt_filter_results": _PROMPT},
    choice_fields={"logprobs": None, "content_filter_results": {**_FILTERED}},
    logprobs_by_family=False,
    stream_prefix=sse(encode_json(_PROMPT_EVENT)),
    chunk_choice_fields={"logprobs": None, "content_filter_results": {}},
    headers=lambda request_id, error: (
        ("apim-request-id", request_id),
        ("x-ms-region", "Sweden Central"),
        *answer_headers(request_id, error),
    ),
)


OPENROUTER = Dialect(
    name="openrouter",
    title="OpenRouter",
    provider="openrouter",
    path_prefixes=("/openrouter/api/v1/",),
    upstream=upstream_of("openrouter"),
    models=("openai/gpt-5-mini", "anthropic/claude-sonnet-4.6", "google/gemini-2.5-flash"),
    id="gen-{created}-{short}",
    reasoning="details",
    make_top_fields=provider_field,
    make_response_fields=lambda response: {"system_fingerprint": None, "service_tier": None},
    message_fields={"refusal": None, "reasoning": None},
    choice_fields={"logprobs": None},
    make_ending_fields=native_finish_field,
    stream_prefix=b": OPENROUTER PROCESSING\n\n",
    delta_fields={"role": "assistant"},
    chunk_choice_fields={"native_finish_reason": None},
    last_delta={"role": "assistant", "content": ""},
    call_index=True,
    usage=usages.openrouter_usage,
    usage_chunk="always",
    error=errors.openrouter_error,
    headers=errors.make_header_builder(("x-generation-id", "gen-{id}")),
)

VLLM = Dialect(
    name="vllm",
    title="vLLM",
    provider="vllm",
    path_prefixes=("/vllm/v1/",),
    upstream=upstream_of("vllm"),
    models=("Qwen/Qwen3-8B", "openai/gpt-oss-20b"),
    id="chatcmpl-{hex}",
    call_prefix="chatcmpl-tool-",
    reasoning="reasoning_content",
    make_response_fields=lambda response: {
        "service_tier": None,
        "system_fingerprint": None,
        "prompt_logprobs": None,
        "prompt_token_ids": None,
        "kv_transfer_params": None,
    },
    message_fields={
        "refusal": None,
        "annotations": None,
        "audio": None,
        "function_call": None,
        "tool_calls": [],
        "reasoning_content": None,
    },
    choice_fields={"logprobs": None},
    make_ending_fields=lambda model, reason: {"stop_reason": None, "token_ids": None},
    chunk_choice_fields={"logprobs": None},
    usage=usages.vllm_usage,
    error=errors.vllm_error,
    headers=errors.make_header_builder(),
)

DEEPSEEK = Dialect(
    name="deepseek",
    title="DeepSeek",
    provider="deepseek",
    path_prefixes=("/deepseek/v1/", "/deepseek/"),
    upstream=upstream_of("deepseek"),
    models=("deepseek-chat", "deepseek-reasoner"),
    id="{uuid}",
    call_prefix="call_00_",
    fingerprint="made",
    reasoning="reasoning_content",
    tool_call_content={"content": ""},
    choice_fields={"logprobs": None},
    chunk_choice_fields={"logprobs": None},
    last_delta={"content": ""},
    make_last_chunk_fields=lambda response: {"usage": usages.deepseek_usage(response.usage)},
    call_index=True,
    usage=usages.deepseek_usage,
    usage_chunk="never",
    error=errors.deepseek_error,
    headers=errors.make_header_builder(("x-ds-trace-id", "{id}")),
)


def _x_groq_object(response: CanonicalResponse) -> dict[str, Json]:
    """Return the value of the field `x_groq`: the request id and the seed."""
    return {"id": f"req_01{response.id[:24]}", "seed": int(response.id[:8], 16) >> 1}


GROQ = Dialect(
    name="groq",
    title="Groq",
    provider="groq",
    path_prefixes=("/groq/openai/v1/",),
    upstream=upstream_of("groq"),
    models=("openai/gpt-oss-120b", "llama-3.3-70b-versatile", "qwen/qwen3-32b"),
    id="chatcmpl-{uuid}",
    call_prefix="fc_",
    fingerprint="made",
    reasoning="reasoning",
    make_reasoning_fields=lambda model: {"channel": "analysis"} if "gpt-oss" in model else {},
    make_response_fields=lambda response: {
        "usage_breakdown": None,
        "service_tier": "on_demand",
        "x_groq": _x_groq_object(response),
    },
    make_first_chunk_fields=lambda response: {"x_groq": _x_groq_object(response)},
    make_last_chunk_fields=lambda response: {
        "x_groq": {
            "id": _x_groq_object(response)["id"],
            "usage": {**usages.groq_usage(response.usage)},
        },
        "usage": usages.groq_usage(response.usage),
    },
    tool_call_content={},
    choice_fields={"logprobs": None},
    chunk_choice_fields={"logprobs": None},
    whole_calls=True,
    usage=usages.groq_usage,
    usage_chunk="never",
    error=errors.groq_error,
    headers=errors.make_header_builder(
        ("x-request-id", "req_{id}"), ("x-groq-region", "dls"), limits=True
    ),
)

MISTRAL = Dialect(
    name="mistral",
    title="Mistral",
    provider="mistral",
    path_prefixes=("/mistral/v1/",),
    upstream=upstream_of("mistral"),
    models=("mistral-large-latest", "mistral-medium-latest", "magistral-medium-latest"),
    id="{hex}",
    call_prefix="",
    reasoning="content",
    tool_call_content={"content": ""},
    message_fields={"tool_calls": None},
    last_delta={"content": ""},
    make_last_chunk_fields=lambda response: {"usage": usages.mistral_usage(response.usage)},
    call_index=True,
    call_type=False,
    whole_calls=True,
    usage=usages.mistral_usage,
    usage_chunk="never",
    error=errors.mistral_error,
    headers=errors.make_header_builder(("mistral-correlation-id", "{id}"), limits=True),
)

XAI = Dialect(
    name="xai",
    title="xAI",
    provider="xai",
    path_prefixes=("/xai/v1/",),
    upstream=upstream_of("xai"),
    models=("grok-4", "grok-3-mini"),
    id="{uuid}",
    fingerprint="made",
    reasoning="reasoning_content",
    message_fields={"refusal": None},
    tool_call_content={"content": ""},
    delta_fields={"role": "assistant"},
    last_delta={"role": "assistant"},
    whole_calls=True,
    usage=usages.xai_usage,
    error=errors.xai_error,
    headers=errors.make_header_builder(("x-request-id", "{id}"), limits=True),
)

OLLAMA = Dialect(
    name="ollama",
    title="Ollama (OpenAI-compatible)",
    provider=PROVIDER,
    path_prefixes=("/v1/",),
    models=("llama3.2", "qwen3"),
    id="chatcmpl-{number}",
    fingerprint="fp_ollama",
    reasoning="reasoning",
    tool_call_content={"content": ""},
    delta_fields={"role": "assistant", "content": ""},
    last_delta={"role": "assistant", "content": ""},
    call_index=True,
    whole_calls=True,
    usage=usages.plain_usage,
    error=errors.ollama_error,
    headers=errors.make_header_builder(),
)

DIALECTS: Mapping[str, Dialect] = {
    row.name: row
    for row in (OPENAI, AZURE_OPENAI, OPENROUTER, VLLM, DEEPSEEK, GROQ, MISTRAL, XAI, OLLAMA)
}
PROVIDERS: tuple[str, ...] = tuple(
    name for name, row in DIALECTS.items() if row.provider == name and row is not OPENAI
)
"""The names of the dialects whose provider has the same name, except OpenAI."""

_OTHERS = tuple(row for row in DIALECTS.values() if row.name in PROVIDERS)
PATH_PREFIXES: tuple[str, ...] = tuple(start for row in _OTHERS for start in row.path_prefixes)
"""The path prefixes of the dialects in PROVIDERS."""
OWNED_PREFIXES: tuple[str, ...] = tuple(row.owned_prefix for row in _OTHERS)
