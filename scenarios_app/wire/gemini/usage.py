"""The usage metadata of Gemini's responses, whole and streamed, and log probabilities."""

from scenarios_app.engine.canonical import Json, Usage
from scenarios_app.engine.producing.usage import Token, split_tokens, top_tokens
from scenarios_app.wire.base import encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.fields import find_field, read_integer
from scenarios_app.wire.gemini.style import GeminiStyle

_MAX_TOP_LOGPROBS = 20


def usage_fields(usage: Usage, style: GeminiStyle) -> dict[str, Json]:
    """Return the usage. Reasoning tokens are counted beside the candidates' and in the total."""
    candidates = candidate_tokens(usage)
    counted: dict[str, Json] = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": candidates,
        "totalTokenCount": usage.total_tokens,
        **_prompt_details(usage),
    }
    if style.detailed:
        counted["candidatesTokensDetails"] = _modality_details(candidates)
    return counted | _thoughts_and_tier(usage)


def prompt_usage(usage: Usage) -> dict[str, Json]:
    """Return the usage of a response to a blocked prompt: input only."""
    tokens = usage.input_tokens
    counted: dict[str, Json] = {"promptTokenCount": tokens, "totalTokenCount": tokens}
    return {**counted, "promptTokensDetails": _modality_details(tokens), "serviceTier": "standard"}


def candidate_tokens(usage: Usage) -> int:
    """Return the output tokens without reasoning."""
    return max(usage.output_tokens - usage.reasoning_tokens, 0)


class RunningUsage:
    """The usage in a stream's chunks before the last, as JSON. `detailed` models count output only
    in the last chunk. `uncounted` is the usage before any output."""

    __slots__ = ("_after", "_before", "_counts", "_fixed", "_max_tokens", "uncounted")

    def __init__(self, usage: Usage, style: GeminiStyle) -> None:
        self._max_tokens, self._counts = candidate_tokens(usage), not style.detailed
        self._fixed = usage.input_tokens + usage.reasoning_tokens
        before = b'{"promptTokenCount":%d' % usage.input_tokens
        rest = encode_json({**_prompt_details(usage), **_thoughts_and_tier(usage)})
        self._before = before + b',"candidatesTokenCount":'
        self._after = b"," + rest[1:]
        self.uncounted = b'%b,"totalTokenCount":%d%b' % (before, self._fixed, self._after)

    def after(self, tokens: int) -> bytes:
        """Return the usage after this many output tokens, at most the total."""
        if not self._counts:
            return self.uncounted
        counted = self._max_tokens if tokens > self._max_tokens else tokens
        total = self._fixed + counted
        return b'%b%d,"totalTokenCount":%d%b' % (self._before, counted, total, self._after)


def _prompt_details(usage: Usage) -> dict[str, Json]:
    """Return the prompt's tokens by modality (only text is counted), and the cached ones."""
    fields: dict[str, Json] = {"promptTokensDetails": _modality_details(usage.input_tokens)}
    if cached := usage.cached_tokens + usage.cache_read_tokens:
        fields = {
            "cachedContentTokenCount": cached,
            **fields,
            "cacheTokensDetails": _modality_details(cached),
        }
    return fields


def _thoughts_and_tier(usage: Usage) -> dict[str, Json]:
    tier: dict[str, Json] = {"serviceTier": "standard"}
    thoughts = usage.reasoning_tokens
    return {"thoughtsTokenCount": thoughts, **tier} if thoughts else tier


def _modality_details(tokens: int) -> list[Json]:
    return [{"modality": "TEXT", "tokenCount": tokens}]


def read_top_logprobs(config: Node) -> int | None:
    """Return the number of alternatives per token, or None without log probabilities; raise the 400
    for a number out of range or without `responseLogprobs`."""
    node = find_field(config, "logprobs")
    flag = find_field(config, "responseLogprobs")
    is_enabled = flag is not None and flag.flag()
    if node is None:
        return 0 if is_enabled else None
    top = read_integer(node)
    if not is_enabled:
        raise WireError(400, "logprobs is only allowed when responseLogprobs is true")
    if not 0 <= top <= _MAX_TOP_LOGPROBS:
        raise WireError(400, f"logprobs must be in the range [0, {_MAX_TOP_LOGPROBS}]")
    return top


def average_logprob(text: str) -> float:
    """Return the mean log probability of a text's tokens."""
    tokens = split_tokens(text)
    return sum(token.logprob for token in tokens) / max(1, len(tokens))


def logprobs_result(text: str, top: int) -> Json:
    """Return the tokens of a text, each with the `top` likeliest alternatives."""
    tokens = split_tokens(text)
    result: dict[str, Json] = {"chosenCandidates": [_token_json(token) for token in tokens]}
    if top:
        result["topCandidates"] = [
            {"candidates": [_token_json(other) for other in top_tokens(token, top)]}
            for token in tokens
        ]
    return result


def _token_json(token: Token) -> Json:
    return {"token": token.text, "tokenId": token.number, "logProbability": token.logprob}
