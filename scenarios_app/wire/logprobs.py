"""Token log probabilities in OpenAI's format, which other providers use too."""

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.producing.usage import Token, likeliest, tokens_of


def token_logprobs(text: str, top: int) -> list[Json]:
    """Return the tokens of a text, each with the `top` likeliest alternatives."""
    return [
        {
            **_token_json(token),
            "top_logprobs": [_token_json(other) for other in likeliest(token, top)],
        }
        for token in tokens_of(text)
    ]


def _token_json(token: Token) -> dict[str, Json]:
    numbers: list[Json] = [*token.text.encode()]
    return {"token": token.text, "logprob": token.logprob, "bytes": numbers}
