"""Ollama's lists and details of models, and requests without a prompt."""

from datetime import datetime

import pytest

from scenarios_app.wire.errors import WireError
from tests.wire.ollama.ollama_cases import CONTEXT, STAMP, compute_json


def test_every_known_model_is_listed() -> None:
    models = compute_json("tags")["models"]
    assert [model["name"] for model in models] == list(CONTEXT.models)
    for model in models:
        assert model["model"] == model["name"]
        assert datetime.fromisoformat(model["modified_at"]).year == 2025
        assert len(model["digest"]) == 64 and model["size"] >= 10**9
    assert len({model["digest"] for model in models}) == len(models)
    assert compute_json("tags")["models"] == models


def test_every_model_is_running() -> None:
    models, running = compute_json("tags")["models"], compute_json("ps")["models"]
    shared = ("name", "model", "size", "digest", "details")
    assert [[m[key] for key in shared] for m in running] == [
        [m[key] for key in shared] for m in models
    ]
    for model in running:
        assert model["size_vram"] == model["size"] and model["context_length"] == 8192
        until = datetime.fromisoformat(model["expires_at"])
        assert (until - datetime.fromisoformat(STAMP)).total_seconds() == 300


@pytest.mark.parametrize(
    ("name", "family", "parameters"),
    [
        ("llama3.2", "llama", ""),
        ("gpt-oss:20b", "gpt-oss", "20B"),
        ("nomic-embed-text:latest", "nomic-embed-text", ""),
    ],
)
def test_details_follow_from_the_name(name: str, family: str, parameters: str) -> None:
    details = compute_json("show", {"model": name})["details"]
    assert (details["family"], details["families"]) == (family, [family])
    assert (details["parameter_size"], details["format"]) == (parameters, "gguf")


def test_show_returns_details_and_capabilities() -> None:
    details = compute_json("show", {"model": "llama3.2"})
    assert details["modified_at"] == STAMP
    assert "completion" in details["capabilities"] and "tools" in details["capabilities"]
    assert details["model_info"]["general.architecture"] == "llama"
    assert details["model_info"]["llama.embedding_length"] == 768
    assert details["modelfile"].startswith("FROM llama3.2\n")
    embedding = compute_json("show", {"model": "nomic-embed-text:latest"})
    assert embedding["capabilities"] == ["embedding"]


def test_name_without_a_tag_means_latest() -> None:
    assert compute_json("show", {"model": "llama3.2:latest"}) == compute_json(
        "show", {"model": "llama3.2"}
    )
    assert compute_json("show", {"name": "nomic-embed-text"})["capabilities"] == ["embedding"]


@pytest.mark.parametrize("name", ["nobody", "gpt-oss", "llama3.2:1b"])
def test_an_unknown_model_is_not_found(name: str) -> None:
    with pytest.raises(WireError) as raised:
        compute_json("show", {"model": name})
    assert raised.value.answer.status == 404
    assert raised.value.answer.message == f"model '{name}' not found"


def test_name_without_letters_has_an_unknown_family() -> None:
    assert compute_json("show", {"model": "4711"})["details"]["family"] == "unknown"


def test_version_consists_of_numbers() -> None:
    assert [int(number) for number in compute_json("version")["version"].split(".")]


@pytest.mark.parametrize(
    ("operation", "content"),
    [("chat", {"message": {"role": "assistant", "content": ""}}), ("generate", {"response": ""})],
)
@pytest.mark.parametrize(
    ("keep_alive", "reason"),
    [
        (None, "load"),
        ("5m", "load"),
        (-1, "load"),
        ("1h30m", "load"),
        (0, "unload"),
        (0.0, "unload"),
        ("0", "unload"),
        ("0s", "unload"),
        ("-0m", "unload"),
    ],
)
def test_request_without_prompt_loads_or_unloads_its_model(
    operation: str, content: dict[str, object], keep_alive: object, reason: str
) -> None:
    assert compute_json(operation, {"model": "any", "keep_alive": keep_alive}) == {
        "model": "any",
        "created_at": STAMP,
        **content,
        "done": True,
        "done_reason": reason,
    }
