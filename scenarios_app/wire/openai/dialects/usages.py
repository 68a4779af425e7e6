"""The usage object of each dialect."""

from scenarios_app.engine.canonical import Json, Usage

# Invented prices in dollars per token, and speeds in seconds per token.
_PROMPT_PRICE, _COMPLETION_PRICE = 3e-06, 1.5e-05
_PROMPT_SECONDS, _COMPLETION_SECONDS, _QUEUE_SECONDS = 2e-05, 0.002, 0.05


def openai_usage(usage: Usage) -> dict[str, Json]:
    return {
        **plain_usage(usage),
        "prompt_tokens_details": {"cached_tokens": _cached_tokens(usage), "audio_tokens": 0},
        "completion_tokens_details": _completion_details(usage),
    }


def openrouter_usage(usage: Usage) -> dict[str, Json]:
    """Return OpenRouter's usage, with costs by invented prices."""
    prompt = round(usage.input_tokens * _PROMPT_PRICE, 9)
    completion = round(usage.output_tokens * _COMPLETION_PRICE, 9)
    cost = round(prompt + completion, 9)
    return {
        **plain_usage(usage),
        "cost": cost,
        "is_byok": False,
        "prompt_tokens_details": {
            "cached_tokens": _cached_tokens(usage),
            "cache_write_tokens": usage.cache_write_tokens,
            "audio_tokens": 0,
            "video_tokens": 0,
        },
        "cost_details": {
            "upstream_inference_cost": cost,
            "upstream_inference_prompt_cost": prompt,
            "upstream_inference_completions_cost": completion,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "image_tokens": 0,
            "audio_tokens": 0,
        },
    }


def vllm_usage(usage: Usage) -> dict[str, Json]:
    return {
        "prompt_tokens": usage.input_tokens,
        "total_tokens": usage.total_tokens,
        "completion_tokens": usage.output_tokens,
        "prompt_tokens_details": None,
    }


def deepseek_usage(usage: Usage) -> dict[str, Json]:
    cached = _cached_tokens(usage)
    return {
        **plain_usage(usage),
        "prompt_tokens_details": {"cached_tokens": cached},
        **_reasoning_details(usage),
        "prompt_cache_hit_tokens": cached,
        "prompt_cache_miss_tokens": max(0, usage.input_tokens - cached),
    }


def groq_usage(usage: Usage) -> dict[str, Json]:
    """Return Groq's usage, with times that follow from the token counts."""
    prompt_time = round(usage.input_tokens * _PROMPT_SECONDS, 9)
    completion_time = round(usage.output_tokens * _COMPLETION_SECONDS, 9)
    return {
        "queue_time": _QUEUE_SECONDS,
        "prompt_tokens": usage.input_tokens,
        "prompt_time": prompt_time,
        "completion_tokens": usage.output_tokens,
        "completion_time": completion_time,
        "total_tokens": usage.total_tokens,
        "total_time": round(prompt_time + completion_time, 9),
        **_reasoning_details(usage),
    }


def mistral_usage(usage: Usage) -> dict[str, Json]:
    return {**plain_usage(usage), "prompt_tokens_details": {"cached_tokens": _cached_tokens(usage)}}


def xai_usage(usage: Usage) -> dict[str, Json]:
    """Return xAI's usage: reasoning tokens are in the total, but not in the completion's tokens."""
    visible_tokens = max(0, usage.output_tokens - usage.reasoning_tokens)
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": visible_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {
            "text_tokens": usage.input_tokens,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": _cached_tokens(usage),
        },
        "completion_tokens_details": _completion_details(usage),
        "num_sources_used": 0,
    }


def plain_usage(usage: Usage) -> dict[str, Json]:
    """Return the prompt tokens, the completion tokens and their total."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }


def _completion_details(usage: Usage) -> dict[str, Json]:
    return {
        "reasoning_tokens": usage.reasoning_tokens,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    }


def _reasoning_details(usage: Usage) -> dict[str, Json]:
    """Return the reasoning tokens, or nothing if there are none."""
    if not usage.reasoning_tokens:
        return {}
    return {"completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens}}


def _cached_tokens(usage: Usage) -> int:
    """Return the sum of `cached_tokens` and `cache_read_tokens`."""
    return usage.cached_tokens + usage.cache_read_tokens
