"""Routing of calls to the Gemini wire, below prefixes that it shares with others, and keys."""

import pytest

from scenarios_app.wire.base import Call, Wire
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import Target, find_target, is_provider_path
from tests.wire.gemini.gemini_cases import ARRAY, EVENTS, HEADERS, MODEL, call

# Verbs of paths and the verb in the route that steps match.
VERBS = {
    "generateContent": "generateContent",
    "streamGenerateContent": "generateContent",
    "countTokens": "countTokens",
    "embedContent": "embedContent",
    "batchEmbedContents": "batchEmbedContents",
}


def resolve_target(request_call: Call) -> Target:
    target = find_target(request_call)
    assert target is not None
    return target


def wire_of(method: str, path: str, headers: dict[str, str], **query: str) -> Wire:
    return resolve_target(Call(method, path, query, headers, b"")).wire


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "folder", ["/v1beta/models", "/v1/models", "/v1alpha/models", "/v1beta/tunedModels"]
)
@pytest.mark.parametrize("headers", [{}, HEADERS, {"authorization": "Bearer x"}])
def test_verbs_are_routed_to_gemini_whatever_the_headers(
    verb: str, folder: str, headers: dict[str, str]
) -> None:
    target = resolve_target(call(f"{folder}/m-1:{verb}", headers=headers))
    assert target.wire.provider == "gemini"
    assert target.endpoint is not None and target.endpoint.canonical.endswith(f":{VERBS[verb]}")
    assert target.params == {"model": "m-1"}


@pytest.mark.parametrize(
    ("query", "wire"),
    [({"alt": "sse"}, EVENTS), ({}, ARRAY), ({"alt": "json"}, ARRAY), ({"key": "k"}, ARRAY)],
)
def test_alt_parameter_selects_the_framing_of_a_stream(query: dict[str, str], wire: Wire) -> None:
    assert resolve_target(call(f"{MODEL}:streamGenerateContent", query=query)).wire is wire
    assert resolve_target(call(f"{MODEL}:generateContent", query=query)).wire is EVENTS


@pytest.mark.parametrize(
    ("path", "canonical"), [("models", "models"), ("models/gemini-x", "models/{model}")]
)
@pytest.mark.parametrize("version", ["v1beta", "v1", "v1alpha"])
def test_models_paths_are_routed_to_gemini(version: str, path: str, canonical: str) -> None:
    target = resolve_target(call(f"/{version}/{path}", method="GET"))
    assert target.wire is EVENTS
    assert target.endpoint is not None
    assert target.endpoint.canonical == f"/v1beta/{canonical}"


def test_models_below_v1_are_googles_only_with_googles_key() -> None:
    key = HEADERS
    for path in ("/v1/models", "/v1/models/x"):
        assert wire_of("GET", path, key) is EVENTS
        assert wire_of("GET", path, {}, key="k-1") is EVENTS
        assert wire_of("PUT", path, key) is EVENTS
        assert wire_of("GET", path, {}).provider == "openai"
        assert wire_of("GET", path, {"authorization": "Bearer k", **key}).provider == "openai"
        assert wire_of("GET", path, {"anthropic-version": "x", **key}).provider == "anthropic"
        assert wire_of("GET", path, {"x-api-key": "k", **key}).provider == "openai"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/models"),
        ("GET", "/v1/models/ft:gpt-4o:mine::abc"),
        ("DELETE", "/v1/models/ft:gpt-4o:mine::abc"),
        ("GET", "/v1/modelsx/y:generateContent"),
        ("GET", "/v1/none"),
    ],
)
def test_other_paths_below_v1_are_not_googles(method: str, path: str) -> None:
    assert wire_of(method, path, {"authorization": "Bearer k"}).provider == "openai"
    assert wire_of(method, path, {"anthropic-version": "x"}).provider != "gemini"


@pytest.mark.parametrize(
    "path", ["/v1/operations/x", "/v1/cachedContents/x", "/v1/tunedModels", "/v1"]
)
def test_unsupported_google_path_is_googles_404(path: str) -> None:
    target = resolve_target(call(path, method="GET", headers=HEADERS))
    assert target.wire is EVENTS
    assert target.error is not None and target.error.answer.status == 404
    assert wire_of("GET", path, {"authorization": "Bearer k", **HEADERS}).provider == "openai"
    assert wire_of("GET", path, {"anthropic-version": "x", **HEADERS}).provider == "anthropic"


def test_googles_key_does_not_reroute_paths_of_other_providers() -> None:
    for path, provider in (("/v1/chat/completions", "openai"), ("/v1/messages", "anthropic")):
        assert wire_of("POST", path, HEADERS).provider == provider
        assert wire_of("PUT", path, HEADERS).provider == provider


@pytest.mark.parametrize(
    "path",
    [
        "/v1beta",
        "/v1alpha/none",
        "/upload/v1beta/files",
        "/upload/v1/stores",
        "/v1beta/",
        "/v1beta/none",
        "/v1beta/models/",
        "/v1beta/models/x:generateContent/",
        "/v1beta/tunedModels",
        "/v1/models/x:generateContent/",
        "/%761beta/models",
    ],
)
def test_an_unknown_path_is_googles_404(path: str) -> None:
    assert is_provider_path(path)
    target = resolve_target(call(path, headers={}))
    assert target.wire.provider == "gemini"
    assert target.error is not None and target.error.answer.status == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", f"{MODEL}:generateContent", "POST"),
        ("DELETE", f"{MODEL}:streamGenerateContent", "POST"),
        ("PUT", "/v1/models/x:countTokens", "POST"),
        ("POST", "/v1beta/models", "GET"),
        ("DELETE", MODEL, "GET"),
        ("DELETE", "/v1/models/x", "GET"),
        ("POST", "/v1beta/models/x:predict", "GET"),
    ],
)
def test_wrong_method_is_405_with_the_allowed_one(method: str, path: str, allowed: str) -> None:
    target = resolve_target(call(path, method=method))
    assert target.wire.provider == "gemini"
    assert target.endpoint is None and target.error is not None
    answer = target.error.answer
    assert (answer.status, answer.headers) == (405, (("allow", allowed),))


@pytest.mark.parametrize(
    ("headers", "query", "key"),
    [
        ({"x-goog-api-key": " k-1 "}, {}, "k-1"),
        ({}, {"key": "k-2"}, "k-2"),
        ({"x-goog-api-key": "k-1"}, {"key": "k-2"}, "k-1"),
        ({"x-goog-api-key": " "}, {"key": "k-2"}, "k-2"),
    ],
)
def test_key_is_read_from_the_header_or_the_query(
    headers: dict[str, str], query: dict[str, str], key: str
) -> None:
    request_call = call(headers=headers, query=query)
    assert EVENTS.api_key(request_call) == key
    EVENTS.authorise(request_call)


@pytest.mark.parametrize(
    ("headers", "query"),
    [({"x-goog-api-key": ""}, {"key": " "}), ({"authorization": "Bearer k-3"}, {}), ({}, {})],
)
def test_missing_key_is_403(headers: dict[str, str], query: dict[str, str]) -> None:
    request_call = call(headers=headers, query=query)
    assert EVENTS.api_key(request_call) is None
    with pytest.raises(WireError, match="unregistered callers") as raised:
        EVENTS.authorise(request_call)
    assert raised.value.answer.status == 403
