"""How likely the tokens of a text were, in the form that OpenAI gave it and others took over."""

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.producing.usage import Token, likeliest, tokens_of


def token_logprobs(text: str, top: int) -> list[Json]:
    """The tokens of a text, with so many of the likeliest ones for the place of each."""
    return [
        {**_told(token), "top_logprobs": [_told(other) for other in likeliest(token, top)]}
        for token in tokens_of(text)
    ]


def _told(token: Token) -> dict[str, Json]:
    numbers: list[Json] = [*token.text.encode()]
    return {"token": token.text, "logprob": token.logprob, "bytes": numbers}
