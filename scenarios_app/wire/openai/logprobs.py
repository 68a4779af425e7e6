"""Token log probabilities in OpenAI's APIs."""

from itertools import accumulate

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.producing.usage import split_tokens, top_tokens
from scenarios_app.wire.body import Node
from scenarios_app.wire.logprobs import token_logprobs
from scenarios_app.wire.openai.fields import read_in_range

MAX_TOP_LOGPROBS = 20
"""How many tokens may be asked for at the place of each."""


def read_top_logprobs(body: Node, most: int = MAX_TOP_LOGPROBS, key: str = "top_logprobs") -> int:
    """Return the requested number of alternatives per token, 0 if it is missing."""
    node = body.maybe(key)
    return read_in_range(node, 0, most) if node else 0


def choice_logprobs(text: str | None, top: int) -> Json:
    """Return the log probabilities of a chat choice, or None without text."""
    return {"content": token_logprobs(text, top), "refusal": None} if text else None


def completion_logprobs(text: str, top: int, *, offset: int = 0) -> Json:
    """Return the log probabilities of a legacy completion; `offset` is where the text begins."""
    tokens = split_tokens(text)
    *offsets, _ = accumulate((len(token.text) for token in tokens), initial=offset)
    return {
        "tokens": [token.text for token in tokens],
        "token_logprobs": [token.logprob for token in tokens],
        "top_logprobs": [
            {other.text: other.logprob for other in top_tokens(token, top)} for token in tokens
        ],
        "text_offset": list(offsets),
    }
