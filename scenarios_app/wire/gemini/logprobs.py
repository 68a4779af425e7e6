"""How likely the tokens of an answer were, as Google's API tells it."""

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.producing.usage import Token, likeliest, tokens_of
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.fields import integer, maybe

_MOST = 20


def read_top(config: Node) -> int | None:
    """How many tokens are asked for at the place of each; None where none are told."""
    node = maybe(config, "logprobs")
    asked = maybe(config, "responseLogprobs")
    told = asked is not None and asked.flag()
    if node is None:
        return 0 if told else None
    top = integer(node)
    if not told:
        raise WireError(400, "logprobs is only allowed when responseLogprobs is true")
    if not 0 <= top <= _MOST:
        raise WireError(400, f"logprobs must be in the range [0, {_MOST}]")
    return top


def average(text: str) -> float:
    """The mean of all tokens."""
    tokens = tokens_of(text)
    return sum(token.logprob for token in tokens) / max(1, len(tokens))


def logprobs_result(text: str, top: int) -> Json:
    """The tokens of a text, with the likeliest ones for the place of each."""
    tokens = tokens_of(text)
    result: dict[str, Json] = {"chosenCandidates": [_told(token) for token in tokens]}
    if top:
        result["topCandidates"] = [
            {"candidates": [_told(other) for other in likeliest(token, top)]} for token in tokens
        ]
    return result


def _told(token: Token) -> Json:
    return {"token": token.text, "tokenId": token.number, "logProbability": token.logprob}
