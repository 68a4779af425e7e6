"""Token log probabilities in OpenAI's APIs."""

from itertools import accumulate

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.producing.usage import split_tokens, top_tokens
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.logprobs import token_logprobs

MAX_TOP_LOGPROBS = 20
"""How many tokens may be asked for at the place of each."""


def read_top_logprobs(body: Node, most: int = MAX_TOP_LOGPROBS, key: str = "top_logprobs") -> int:
    """Return the requested number of alternatives per token; raise the 400 if it is out of
    range."""
    node = body.maybe(key)
    top = node.integer() if node else 0
    if 0 <= top <= most:
        return top
    raise WireError(
        400,
        f"Invalid '{key}': expected 0 to {most}, but got {top}.",
        param=key,
        code="integer_below_min_value" if top < 0 else "integer_above_max_value",
    )


def choice_logprobs(text: str | None, top: int) -> Json:
    """Return the log probabilities of a chat choice, or None without text."""
    return {"content": token_logprobs(text, top), "refusal": None} if text else None


def completion_logprobs(text: str, top: int, *, offset: int = 0) -> Json:
    """Return the log probabilities of a legacy completion; `offset` is where the text begins."""
    tokens = split_tokens(text)
    ends = accumulate((len(token.text) for token in tokens), initial=offset)
    begins: list[Json] = list(ends)
    likely: list[Json] = [
        {other.text: other.logprob for other in top_tokens(token, top)} for token in tokens
    ]
    texts: list[Json] = [token.text for token in tokens]
    numbers: list[Json] = [token.logprob for token in tokens]
    return {
        "tokens": texts,
        "token_logprobs": numbers,
        "top_logprobs": likely,
        "text_offset": begins[:-1],
    }
