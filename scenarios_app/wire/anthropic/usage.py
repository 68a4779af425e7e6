"""The usage fields of Anthropic's responses, for whole ones and at both ends of a stream."""

from typing import Any

from scenarios_app.engine.canonical import CanonicalResponse, Usage
from scenarios_app.engine.parts import ServerToolResultPart, ServerToolUsePart
from scenarios_app.wire.anthropic.options import AnthropicOptions


def whole_usage(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Any]:
    """Return the usage of a whole response."""
    usage = response.usage
    fields = _usage_fields(usage, options, output_tokens=usage.output_tokens)
    return fields | _final_fields(response, options)


def opening_usage(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Any]:
    """Return the usage at the start of a stream: one output token."""
    return _usage_fields(response.usage, options, output_tokens=1)


def closing_usage(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Any]:
    """Return the cumulative usage at the end of a stream."""
    usage = response.usage
    return {
        **_input_tokens(usage),
        "output_tokens": usage.output_tokens,
        **_final_fields(response, options),
    }


def _input_tokens(usage: Usage) -> dict[str, int]:
    """Return the input tokens, split into cached and other ones as Anthropic counts them."""
    # Anthropic's `input_tokens` excludes tokens read from the cache.
    return {
        "input_tokens": max(usage.input_tokens - usage.cached_tokens, 0),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens + usage.cache_read_tokens,
    }


def _token_counts(usage: Usage, options: AnthropicOptions, *, output_tokens: int) -> dict[str, Any]:
    """Return the token counts, with those of cache writes by the lifetime of the cache."""
    written = usage.cache_write_tokens
    cache_creation = {
        "ephemeral_5m_input_tokens": 0 if options.hour else written,
        "ephemeral_1h_input_tokens": written if options.hour else 0,
    }
    return {
        **_input_tokens(usage),
        "cache_creation": cache_creation,
        "output_tokens": output_tokens,
    }


def _usage_fields(usage: Usage, options: AnthropicOptions, *, output_tokens: int) -> dict[str, Any]:
    """Return the token counts with service tier, inference region and any requested speed."""
    fields = _token_counts(usage, options, output_tokens=output_tokens)
    fields |= {"service_tier": "standard", "inference_geo": options.geo}
    if options.speed is not None:
        fields["speed"] = options.speed
    return fields


def _final_fields(response: CanonicalResponse, options: AnthropicOptions) -> dict[str, Any]:
    """Return the fields known only at the end: thinking tokens, uses of web tools, iterations."""
    usage = response.usage
    fields: dict[str, Any] = {}
    if options.thinking or usage.reasoning_tokens:
        fields["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    if (used := _server_tool_use(response)) is not None:
        fields["server_tool_use"] = used
    if options.iterated:
        counts = _token_counts(usage, options, output_tokens=usage.output_tokens)
        fields["iterations"] = [{"type": "message", **counts}]
    return fields


def _server_tool_use(response: CanonicalResponse) -> dict[str, int] | None:
    """Return the numbers of web searches and fetches, or None if no server tool ran."""
    parts = [part for choice in response.choices for part in choice.parts]
    if not any(isinstance(part, ServerToolUsePart | ServerToolResultPart) for part in parts):
        return None
    used = [part.name for part in parts if isinstance(part, ServerToolUsePart)]
    return {f"{name}_requests": used.count(name) for name in ("web_search", "web_fetch")}
