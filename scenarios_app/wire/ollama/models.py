"""What Ollama tells of the models it has: the lists of them, one of them, and its own version."""

import re
from collections.abc import Mapping
from hashlib import sha256

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.wire.base import Facts, encode_json
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama.answer import timestamp
from scenarios_app.wire.ollama.embeddings import CONTEXT_LENGTH, dimensions_of, embeds

VERSION = "0.30.0"
_LATEST = ":latest"
_FAMILY = re.compile(r"[a-z]+(?:-[a-z]+)*")
_PARAMETERS = re.compile(r"[0-9]+(?:\.[0-9]+)?[mb]", re.IGNORECASE)
_ABILITIES: list[Json] = ["completion", "tools", "thinking", "vision", "insert"]
_GIGABYTE = 1_000_000_000
# A model stays in memory for five minutes unless a request says otherwise.
_KEPT_SECONDS = 300


def version(request: CanonicalRequest, facts: Facts) -> bytes:
    return encode_json({"version": VERSION})


def listed(request: CanonicalRequest, facts: Facts) -> bytes:
    """Every known model, under the name that scenarios know it by."""
    modified: dict[str, Json] = {"modified_at": timestamp(facts.created)}
    return encode_json({"models": [modified | _entry(name) for name in facts.models]})


def running(request: CanonicalRequest, facts: Facts) -> bytes:
    """Every known model again: all of them are in memory, as after a request a moment ago."""
    until = timestamp(facts.created + _KEPT_SECONDS)
    models = [
        _entry(name)
        | {"expires_at": until, "size_vram": _size(name), "context_length": CONTEXT_LENGTH}
        for name in facts.models
    ]
    return encode_json({"models": models})


def shown(request: CanonicalRequest, facts: Facts) -> bytes:
    """One model. A name without a tag is that of the latest."""
    name = _known(request.model, facts.models)
    family = _family(name)
    answer: Json = {
        "license": "",
        "modelfile": f"FROM {name}\nTEMPLATE {{{{ .Prompt }}}}\n",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": _details(name),
        "model_info": {
            "general.architecture": family,
            f"{family}.context_length": CONTEXT_LENGTH,
            f"{family}.embedding_length": dimensions_of(name),
        },
        "capabilities": ["embedding"] if embeds(name) else _ABILITIES,
        "modified_at": timestamp(facts.created),
    }
    return encode_json(answer)


def _known(asked: str, models: Mapping[str, str]) -> str:
    for name in (asked, asked.removesuffix(_LATEST), asked + _LATEST):
        if name in models:
            return name
    raise WireError(404, f"model '{asked}' not found")


def _entry(name: str) -> dict[str, Json]:
    return {
        "name": name,
        "model": name,
        "size": _size(name),
        "digest": sha256(name.encode()).hexdigest(),
        "details": _details(name),
    }


def _details(name: str) -> dict[str, Json]:
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
    """The letters that a model's own name begins with, behind its owner."""
    found = _FAMILY.match(name.rpartition("/")[2].lower())
    return found[0] if found else "unknown"


def _size(name: str) -> int:
    """Some gigabytes, always as many for the same model."""
    return _GIGABYTE + int(sha256(name.encode()).hexdigest()[:8], 16)
