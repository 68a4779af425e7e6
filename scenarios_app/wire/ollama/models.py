"""Ollama's computed endpoints: embeddings, models and the version."""

import re
from collections.abc import Mapping
from hashlib import sha256

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.parts import TextPart
from scenarios_app.engine.producing.usage import CHARACTERS_PER_TOKEN, count_tokens
from scenarios_app.wire.base import ComputeContext, encode_json, to_raw_json
from scenarios_app.wire.embedding import unit_vector
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama.answer import LOAD_NS, PROMPT_NS, format_timestamp
from scenarios_app.wire.ollama.request import OllamaEmbeddingFields

VERSION = "0.30.0"
_LATEST = ":latest"
_FAMILY = re.compile(r"[a-z]+(?:-[a-z]+)*")
_PARAMETERS = re.compile(r"[0-9]+(?:\.[0-9]+)?[mb]", re.IGNORECASE)
_CAPABILITIES: list[Json] = ["completion", "tools", "thinking", "vision", "insert"]
_GIGABYTE = 1_000_000_000
# Ollama's default: a model stays loaded for five minutes.
_KEEP_ALIVE_SECONDS = 300
# In tokens; longer texts are cut.
CONTEXT_LENGTH = 8_192
# Of all texts of a request; more would block other requests.
MAX_EMBEDDED_CHARS = 1_000_000
_DIMENSIONS = 768
_LARGE_MODELS = (
    *("bge-large", "bge-m3", "mxbai-embed-large", "qwen3-embedding"),
    *("snowflake-arctic-embed", "snowflake-arctic-embed2"),
)
_OTHER_DIMENSIONS = {"all-minilm": 384, **dict.fromkeys(_LARGE_MODELS, 1_024)}


def dimensions_of(model: str) -> int:
    """Return the number of dimensions of a model's embeddings."""
    return _OTHER_DIMENSIONS.get(_base_name(model), _DIMENSIONS)


def compute_embeddings(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return a body with one vector for each text; `dimensions` can only shorten them. Raise the
    400 for texts that are too long."""
    texts = [_truncate_text(request, t, place) for place, t in enumerate(_input_texts(request))]
    if sum(map(len, texts)) > MAX_EMBEDDED_CHARS:
        raise WireError(400, f"input: at most {MAX_EMBEDDED_CHARS} characters are taken")
    if not texts:
        return encode_json({"model": request.model, "embeddings": []})
    own: OllamaEmbeddingFields = request.own
    wanted, maximum = own.dimensions, dimensions_of(request.model)
    size = wanted if wanted is not None and 0 < wanted < maximum else maximum
    tokens = sum(count_tokens(len(text)) for text in texts)
    answer = {
        "model": request.model,
        "embeddings": [to_raw_json(unit_vector(text, size)) for text in texts],
        "total_duration": LOAD_NS + PROMPT_NS * max(tokens, 1),
        "load_duration": LOAD_NS,
        "prompt_eval_count": tokens,
    }
    return encode_json(answer)


def compute_embedding(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return the vector of a prompt; that of an empty prompt is empty."""
    (prompt,) = _input_texts(request)
    vector = unit_vector(prompt, dimensions_of(request.model)) if prompt else ()
    return encode_json({"embedding": vector})


def _input_texts(request: CanonicalRequest) -> list[str]:
    """Return the texts to embed: those of the only message."""
    (message,) = request.messages
    return [part.text for part in message.parts if isinstance(part, TextPart)]


def _truncate_text(request: CanonicalRequest, text: str, place: int) -> str:
    """Return the text cut to the context length; raise the 400 if it must not be cut."""
    own: OllamaEmbeddingFields = request.own
    length = CONTEXT_LENGTH if own.context_length is None else max(own.context_length, 1)
    characters = min(length, CONTEXT_LENGTH) * CHARACTERS_PER_TOKEN
    if len(text) > characters and not own.truncate:
        raise WireError(400, f"input[{place}]: the input length exceeds the context length")
    return text[:characters]


def _base_name(model: str) -> str:
    """Return a model's name without its owner and its tag."""
    return model.rpartition("/")[2].partition(":")[0]


def show_version(request: CanonicalRequest, context: ComputeContext) -> bytes:
    return encode_json({"version": VERSION})


def list_models(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return every model, under the name that scenarios use."""
    modified: dict[str, Json] = {"modified_at": format_timestamp(context.created)}
    return encode_json({"models": [modified | _model_entry(name) for name in context.models]})


def list_running(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return every model as loaded."""
    until = format_timestamp(context.created + _KEEP_ALIVE_SECONDS)
    models = [
        _model_entry(name)
        | {"expires_at": until, "size_vram": _size(name), "context_length": CONTEXT_LENGTH}
        for name in context.models
    ]
    return encode_json({"models": models})


def show_model(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return one model, whose tag `latest` may be left out; raise the 404 if it is not listed."""
    name = _find_model(request.model, context.models)
    family = _family(name)
    embeds = "embed" in name or _base_name(name) in _OTHER_DIMENSIONS
    answer: Json = {
        "license": "",
        "modelfile": f"FROM {name}\nTEMPLATE {{{{ .Prompt }}}}\n",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": _model_details(name),
        "model_info": {
            "general.architecture": family,
            f"{family}.context_length": CONTEXT_LENGTH,
            f"{family}.embedding_length": dimensions_of(name),
        },
        "capabilities": ["embedding"] if embeds else _CAPABILITIES,
        "modified_at": format_timestamp(context.created),
    }
    return encode_json(answer)


def _find_model(model: str, models: Mapping[str, str]) -> str:
    """Return a model's listed name, with or without the tag `latest`; raise the 404 if it has
    none."""
    for name in (model, model.removesuffix(_LATEST), model + _LATEST):
        if name in models:
            return name
    raise WireError(404, f"model '{model}' not found")


def _model_entry(name: str) -> dict[str, Json]:
    """Return a model as lists show it, with an invented size and digest."""
    return {
        "name": name,
        "model": name,
        "size": _size(name),
        "digest": sha256(name.encode()).hexdigest(),
        "details": _model_details(name),
    }


def _model_details(name: str) -> dict[str, Json]:
    family = _family(name)
    parameters = _PARAMETERS.search(name.partition(":")[2])
    return {
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family],
        "parameter_size": parameters[0].upper() if parameters else "",
        "quantization_level": "Q4_K_M",
    }


def _family(name: str) -> str:
    """Return the letters that a model's name begins with, after its owner."""
    match = _FAMILY.match(name.rpartition("/")[2].lower())
    return match[0] if match else "unknown"


def _size(name: str) -> int:
    """Return a size of some gigabytes, derived from the name."""
    return _GIGABYTE + int(sha256(name.encode()).hexdigest()[:8], 16)
