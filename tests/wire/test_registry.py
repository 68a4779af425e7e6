"""Routing of calls to wires and endpoints; unknown paths and methods."""

import re
from importlib import import_module

import pytest

from scenarios_app.wire.anthropic import wire as anthropic_messages
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai import wire as openai_chat
from scenarios_app.wire.paths import match_path
from scenarios_app.wire.registry import (
    SHIPPED,
    Target,
    find_target,
    install,
    is_provider_path,
    key_headers,
    url_patterns,
)
from scenarios_app.wire.upstreams import SHIPPED as SHIPPED_UPSTREAMS
from scenarios_app.wire.upstreams import find_upstream, routing_headers, upstreams
from tests.wire.openai.openai_cases import make_call

VERSION = {"anthropic-version": "2023-06-01"}

COMPLETION = "/v1/chat/completions/{completion_id}"


def resolve_target(method: str, path: str, headers: dict[str, str] | None = None) -> Target:
    target = find_target(make_call(method, path, headers=headers))
    assert target is not None
    return target


def error_of(target: Target) -> WireError:
    assert target.endpoint is None
    assert target.error is not None
    return target.error


@pytest.mark.parametrize(
    ("method", "path", "canonical"),
    [
        ("POST", "/v1/chat/completions", "/v1/chat/completions"),
        ("GET", "/v1/chat/completions", "/v1/chat/completions"),
        ("GET", "/v1/chat/completions/c1", COMPLETION),
        ("POST", "/v1/chat/completions/c1", COMPLETION),
        ("DELETE", "/v1/chat/completions/c1", COMPLETION),
        (
            "GET",
            "/v1/chat/completions/c1/messages",
            f"{COMPLETION}/messages",
        ),
        ("GET", "/v1/models", "/v1/models"),
        ("GET", "/v1/models/gpt-4o", "/v1/models/{model}"),
        ("DELETE", "/v1/models/gpt-4o", "/v1/models/{model}"),
    ],
)
def test_openai_endpoints(method: str, path: str, canonical: str) -> None:
    target = resolve_target(method, path)
    assert target.wire is openai_chat.WIRE
    assert target.error is None
    assert target.endpoint is not None
    assert (target.endpoint.method, target.endpoint.canonical) == (method, canonical)


def test_the_version_header_makes_a_shared_path_anthropics() -> None:
    assert resolve_target("GET", "/v1/models", VERSION).wire is anthropic_messages.WIRE
    assert resolve_target("GET", "/v1/models").wire is openai_chat.WIRE
    assert resolve_target("POST", "/v1/messages").wire is anthropic_messages.WIRE


def test_parameters_are_decoded() -> None:
    target = resolve_target("GET", "/v1/models/meta%2Fllama%203")
    assert target.params == {"model": "meta/llama 3"}


def test_wrong_method_is_405_with_the_allowed_ones() -> None:
    target = resolve_target("PUT", "/v1/chat/completions")
    error = error_of(target).answer
    assert target.wire is openai_chat.WIRE
    assert (error.status, error.headers) == (405, (("allow", "GET, POST"),))
    assert error.code == "method_not_supported"
    assert error.message == "Method PUT is not allowed for /v1/chat/completions."


def test_wrong_method_is_answered_by_the_first_wire_with_the_path() -> None:
    assert resolve_target("PUT", "/v1/models", VERSION).wire is anthropic_messages.WIRE
    assert resolve_target("PUT", "/v1/chat/completions", VERSION).wire is openai_chat.WIRE
    assert resolve_target("GET", "/v1/messages").wire is anthropic_messages.WIRE


def test_first_matching_pattern_takes_the_path() -> None:
    error = error_of(resolve_target("POST", "/v1/chat/completions/c1/messages")).answer
    assert (error.status, error.headers) == (405, (("allow", "GET"),))


@pytest.mark.parametrize(
    "path",
    ["/v1", "/v1/", "/v1/none", "/v1/chat/completions/", "/v1/models/", "/v1/models/gpt-4o/"],
)
def test_an_unknown_path_is_404(path: str) -> None:
    target = resolve_target("GET", path)
    error = error_of(target).answer
    assert target.wire is openai_chat.WIRE
    assert (error.status, error.code) == (404, "unknown_url")
    assert error.message.startswith(f"Unknown request URL: GET {path}.")


def test_an_unknown_path_with_the_version_header_is_anthropics_404() -> None:
    target = resolve_target("GET", "/v1/none", VERSION)
    assert target.wire is anthropic_messages.WIRE
    assert error_of(target).answer.status == 404


@pytest.mark.parametrize(
    "path", ["/", "", "/v1alpha1/models", "/upload/files", "/v12", "/V1/models", "/admin/v1/"]
)
def test_other_paths_have_no_target(path: str) -> None:
    assert not is_provider_path(path)
    assert find_target(make_call("GET", path)) is None


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/anything/at/all"])
def test_prefix_and_all_paths_below_are_provider_paths(path: str) -> None:
    assert is_provider_path(path)


@pytest.mark.parametrize(
    ("pattern", "path", "params"),
    [
        ("/v1/a", "/v1/a", {}),
        ("/v1/a", "/v1/a/", None),
        ("/m/{id}", "/m/x", {"id": "x"}),
        ("/m/{id}", "/m/a/b%20c", {"id": "a/b c"}),
        ("/m/{id}", "/m/x/", None),
        ("/m/{id}", "/m/", None),
        ("/m/{id}", "/m/%ff", {"id": "\ufffd"}),
        ("/m/{id}", "/m/a\nb", {"id": "a\nb"}),
        ("/m/{id}/parts", "/m/x/parts", {"id": "x"}),
        ("/m/{id}/parts", "/m/a/b/parts", None),
        ("/m/{id}:go", "/m/x.y:go", {"id": "x.y"}),
        ("/m/{id}:go", "/m/x.y:gone", None),
        ("/m/{id}:go", "/m/x.y%3Ago", {"id": "x.y"}),
        ("/m/{id}:go", "/m/a/b%3ac:go", {"id": "a/b:c"}),
        ("/d/{d}/m/{id}", "/d/1/m/2/3", {"d": "1", "id": "2/3"}),
        ("/d/{d}/m/{id}", "/d/1/2/m/3", None),
        ("/a.b/{id}", "/aXb/1", None),
    ],
)
def test_pattern_matches_path_parameters(
    pattern: str, path: str, params: dict[str, str] | None
) -> None:
    assert match_path(pattern, path) == params


@pytest.mark.parametrize(
    "path",
    ["/v1", "/v1/", "/v1/a/b", "/v1beta1", "/x/v1", "/api/chat", "/api/chat/", "/api/chat/x"],
)
def test_django_patterns_match_provider_paths(path: str) -> None:
    matched = any(re.search(pattern, path.removeprefix("/")) for pattern in url_patterns())
    assert matched == is_provider_path(path)


@pytest.mark.parametrize("path", ["/%761/models", "/v%31/models", "/api/%63hat"])
def test_encoded_path_is_a_provider_path(path: str) -> None:
    assert is_provider_path(path)
    assert error_of(resolve_target("GET", path)).answer.status == 404


def test_dialect_header_is_the_only_routing_header() -> None:
    assert routing_headers() == ("x-mockllm-dialect",)


def test_key_headers_are_those_of_all_providers() -> None:
    assert key_headers() == {"authorization", "api-key", "x-api-key", "x-goog-api-key"}


def test_every_dialect_of_the_routing_header_is_an_upstream() -> None:
    rows = upstreams().values()
    names = {row.routing_header[1] for row in rows if row.routing_header is not None}
    assert names == set(openai_chat.WIRES_BY_DIALECT)


def test_shipped_upstreams_are_those_of_the_wires() -> None:
    install(*SHIPPED)
    assert list(upstreams().values()) == list(SHIPPED_UPSTREAMS)


def test_fallback_of_an_upstream_is_an_upstream() -> None:
    assert {row.name: row.fallback for row in upstreams().values() if row.fallback} == {
        "azure": "openai"
    }


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.openai.com", "openai"),
        ("ours.openai.azure.com", "azure"),
        ("openrouter.ai", "openrouter"),
        ("ollama.com", "ollama"),
        ("openai.com", ""),
        ("api.openai.com.example", ""),
        ("openai.azure.com", ""),
        ("localhost", ""),
        ("", ""),
    ],
)
def test_upstream_is_found_by_its_hosts(host: str, name: str) -> None:
    upstream = find_upstream(host)
    assert (upstream.name if upstream else "") == name


def test_client_classes_of_upstreams_are_those_of_the_sdks() -> None:
    names = [sdk.name for upstream in upstreams().values() for sdk in upstream.sdk_clients]
    modules = {name.rpartition(".")[0] for name in names}
    assert modules == {"openai", "anthropic", "google.genai", "ollama"}
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert isinstance(getattr(import_module(module), attribute), type)
