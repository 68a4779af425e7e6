"""Token log probabilities in OpenAI's format, which other providers use too."""

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.producing.usage import Token, split_tokens, top_tokens


def token_logprobs(text: str, top: int) -> list[Json]:
    """Return the tokens of a text, each with the `top` likeliest alternatives."""
    return [
        {
            **_token_json(token),
            "top_logprobs": [_token_json(other) for other in top_tokens(token, top)],
        }
        for token in split_tokens(text)
    ]


def _token_json(token: Token) -> dict[str, Json]:
    numbers: list[Json] = [*token.text.encode()]
    return {"token": token.text, "logprob": token.logprob, "bytes": numbers}
