"""Ollama's errors, routing, keys and malformed bodies."""

import json

import pytest

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.wire.ollama.wire import WIRE
from scenarios_app.wire.registry import find_target, is_provider_path
from tests.wire.ollama.ollama_cases import make_call


def test_error_body_is_one_text() -> None:
    error = ErrorAnswer(404, "model “x” not found", type="t", code="c", param="p")
    assert json.loads(WIRE.error(error, request_id="f00d")) == {"error": "model “x” not found"}


def test_an_error_in_a_stream_is_its_last_line() -> None:
    line = WIRE.stream_error(ErrorAnswer(500, "fell\nover\u2028"), events_sent=3)
    assert line.endswith(b"\n") and len(line.decode().splitlines()) == 1
    assert json.loads(line) == {"error": "fell\nover\u2028"}


def test_ollama_needs_no_key_but_reads_one_that_is_sent() -> None:
    assert WIRE.api_key(make_call()) is None
    WIRE.authorise(make_call())
    WIRE.check_headers(make_call())
    for authorization, key in (
        ("Bearer k", "k"),
        ("bearer  k ", "k"),
        ("Bearer ", None),
        ("k", None),
    ):
        assert WIRE.api_key(make_call(headers={"authorization": authorization})) == key


@pytest.mark.parametrize("malformed", [WIRE.malformed_body, WIRE.malformed_event])
def test_malformed_body_is_invalid_json(malformed: bytes) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(malformed)
    assert b"\n" not in malformed[:-1]


@pytest.mark.parametrize("path", WIRE.prefixes)
def test_prefixes_are_provider_paths_without_subpaths(path: str) -> None:
    assert is_provider_path(path) and is_provider_path(f"{path}/")
    assert (
        not is_provider_path(f"{path}//")
        and not is_provider_path(f"{path}/x")
        and not is_provider_path(f"{path}s/")
    )


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/", "/api/get_chat_response_stream", "/api/pull", "/api/trace/1", "/api/Chat"],
)
def test_other_api_paths_are_not_ollamas(path: str) -> None:
    assert not is_provider_path(path)
    assert find_target(make_call("POST", path)) is None


def test_encoded_path_is_ollamas_404() -> None:
    target = find_target(make_call("POST", "/api/ch%61t"))
    assert target is not None and target.wire is WIRE and target.error is not None
    assert target.error.answer.status == 404
    assert is_provider_path("/api/ch%61t")


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("POST", "/api/chat/", 404, None),
        ("GET", "/api/tags/", 404, None),
        ("GET", "/api/chat", 405, "POST"),
        ("POST", "/api/tags", 405, "GET, HEAD"),
        ("DELETE", "/api/version", 405, "GET, HEAD"),
    ],
)
def test_other_paths_and_methods_are_ollamas_errors(
    method: str, path: str, status: int, allowed: str | None
) -> None:
    target = find_target(make_call(method, path))
    assert target is not None and target.wire is WIRE and target.error is not None
    assert target.error.answer.status == status
    assert dict(target.error.answer.headers).get("allow") == allowed


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/api/tags", "/api/version"])
def test_lists_accept_get_and_head(method: str, path: str) -> None:
    target = find_target(make_call(method, path))
    assert target is not None and target.endpoint is not None
    assert target.endpoint.compute is not None
