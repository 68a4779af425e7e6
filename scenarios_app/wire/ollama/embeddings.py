"""Ollama's embeddings, the list of them for several texts and the older single one."""

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.parts import TextPart
from scenarios_app.engine.producing.usage import CHARACTERS_PER_TOKEN, count_tokens
from scenarios_app.wire.base import Facts, encode_json, encoded
from scenarios_app.wire.embedding import unit_vector
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama.answer import LOAD_NS, PROMPT_NS
from scenarios_app.wire.ollama.request import EmbeddingFields

# In tokens; more of a text is not read.
CONTEXT_LENGTH = 8_192
# Of all texts of a request; more would keep everybody else waiting.
MOST_CHARACTERS = 1_000_000
_DIMENSIONS = 768
_LONGER, _SHORTER = 1_024, 384
_OTHER_DIMENSIONS = {
    "all-minilm": _SHORTER,
    "bge-large": _LONGER,
    "bge-m3": _LONGER,
    "mxbai-embed-large": _LONGER,
    "qwen3-embedding": _LONGER,
    "snowflake-arctic-embed": _LONGER,
    "snowflake-arctic-embed2": _LONGER,
}


def embeds(model: str) -> bool:
    """Whether a model is one for embeddings alone."""
    return "embed" in model or _bare(model) in _OTHER_DIMENSIONS


def dimensions_of(model: str) -> int:
    return _OTHER_DIMENSIONS.get(_bare(model), _DIMENSIONS)


def embed(request: CanonicalRequest, facts: Facts) -> bytes:
    """One vector for each text; `dimensions` makes them shorter, never longer."""
    texts = [_within_context(request, t, place) for place, t in enumerate(_texts(request))]
    if sum(map(len, texts)) > MOST_CHARACTERS:
        raise WireError(400, f"input: at most {MOST_CHARACTERS} characters are taken")
    if not texts:
        return encode_json({"model": request.model, "embeddings": []})
    own: EmbeddingFields = request.own
    wanted, most = own.dimensions, dimensions_of(request.model)
    size = wanted if wanted is not None and 0 < wanted < most else most
    tokens = sum(count_tokens(len(text)) for text in texts)
    return encode_json(
        {
            "model": request.model,
            "embeddings": [encoded(unit_vector(text, size)) for text in texts],
            "total_duration": LOAD_NS + PROMPT_NS * max(tokens, 1),
            "load_duration": LOAD_NS,
            "prompt_eval_count": tokens,
        }
    )


def embedding(request: CanonicalRequest, facts: Facts) -> bytes:
    """The vector of a prompt, none for an empty one."""
    (prompt,) = _texts(request)
    vector = unit_vector(prompt, dimensions_of(request.model)) if prompt else ()
    return encode_json({"embedding": vector})


def _texts(request: CanonicalRequest) -> list[str]:
    (message,) = request.messages
    return [part.text for part in message.parts if isinstance(part, TextPart)]


def _within_context(request: CanonicalRequest, text: str, place: int) -> str:
    """The text as far as it is read; an error where `truncate` is off and it is too long."""
    own: EmbeddingFields = request.own
    given = own.context_length
    length = CONTEXT_LENGTH if given is None else min(max(given, 1), CONTEXT_LENGTH)
    characters = length * CHARACTERS_PER_TOKEN
    if len(text) > characters and not own.truncate:
        raise WireError(400, f"input[{place}]: the input length exceeds the context length")
    return text[:characters]


def _bare(model: str) -> str:
    """A model's own name, without its owner and its tag."""
    return model.rpartition("/")[2].partition(":")[0]
