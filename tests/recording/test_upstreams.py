"""The provider of a forwarded call and its URL there."""

import pytest

from scenarios_app.recording.upstreams import (
    NotForwarded,
    UpstreamError,
    find_upstream_url,
    join_url,
    public_upstreams,
    read_upstreams,
)
from scenarios_app.wire.base import Call

OPENAI = "https://api.openai.com"


def make_call(path: str, method: str = "POST", **headers: str) -> Call:
    header_values = {name.replace("_", "-"): value for name, value in headers.items()}
    return Call(method, path, {}, header_values, b"")


@pytest.mark.parametrize(
    ("call", "name", "url"),
    [
        (make_call("/v1/chat/completions"), "openai", f"{OPENAI}/v1/chat/completions"),
        (make_call("/v1/responses/resp_1", "GET"), "openai", f"{OPENAI}/v1/responses/resp_1"),
        (
            make_call("/v1/models", "GET", anthropic_version="2023-06-01"),
            "anthropic",
            "https://api.anthropic.com/v1/models",
        ),
        (
            make_call("/v1beta/models/g%2F1:generateContent"),
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/models/g%2F1:generateContent",
        ),
        (make_call("/api/chat"), "ollama", "http://127.0.0.1:11434/api/chat"),
        (
            make_call("/groq/openai/v1/chat/completions"),
            "groq",
            "https://api.groq.com/openai/v1/chat/completions",
        ),
        (
            make_call("/v1/chat/completions", x_mockllm_dialect="groq"),
            "groq",
            "https://api.groq.com/openai/v1/chat/completions",
        ),
        (
            make_call("/openrouter/api/v1/chat/completions"),
            "openrouter",
            "https://openrouter.ai/api/v1/chat/completions",
        ),
        (
            make_call("/deepseek/chat/completions"),
            "deepseek",
            "https://api.deepseek.com/chat/completions",
        ),
        (
            make_call("/openai/deployments/d/chat/completions"),
            "openai",
            f"{OPENAI}/openai/deployments/d/chat/completions",
        ),
        (make_call("/vllm/v1/models", "GET"), "vllm", ""),
        (
            make_call("/openai/v1/chat/completions", x_mockllm_dialect=" Groq"),
            "groq",
            "https://api.groq.com/openai/v1/chat/completions",
        ),
        (
            make_call("/v1/chat/completions", x_mockllm_dialect="ollama"),
            "ollama",
            "http://127.0.0.1:11434/v1/chat/completions",
        ),
        (
            make_call("/v1/chat/completions", x_mockllm_dialect="azure"),
            "openai",
            f"{OPENAI}/v1/chat/completions",
        ),
        (make_call("/openai/responses"), "openai", f"{OPENAI}/openai/responses"),
    ],
)
def test_provider_and_url_follow_from_path_and_headers(call: Call, name: str, url: str) -> None:
    assert find_upstream_url(call, public_upstreams()) == (name, url)


def test_azure_call_goes_to_the_configured_azure_url() -> None:
    call = make_call("/openai/deployments/d/chat/completions")
    upstream = find_upstream_url(call, {"azure": "https://r.openai.azure.com", "openai": OPENAI})
    assert upstream == ("azure", "https://r.openai.azure.com/openai/deployments/d/chat/completions")


def test_call_of_an_unknown_path_goes_to_openai() -> None:
    assert find_upstream_url(make_call("/none"), public_upstreams(), paths=["/none"]) == (
        "openai",
        f"{OPENAI}/none",
    )


@pytest.mark.parametrize(
    ("base_url", "path", "url"),
    [
        ("https://a.example", "/v1/x", "https://a.example/v1/x"),
        ("https://a.example/", "/v1/x", "https://a.example/v1/x"),
        ("https://a.example/v1", "/v1/x", "https://a.example/v1/x"),
        ("https://a.example/v1/", "/v1/v1", "https://a.example/v1/v1"),
        ("https://a.example/proxy", "/v1/x", "https://a.example/proxy/v1/x"),
        ("https://a.example/proxy/v1", "/v1/x", "https://a.example/proxy/v1/x"),
        ("https://a.example/v1", "/v1beta/x", "https://a.example/v1/v1beta/x"),
        ("http://[::1]:80", "/a%2Fb", "http://[::1]:80/a%2Fb"),
    ],
)
def test_joined_url_contains_a_shared_prefix_once(base_url: str, path: str, url: str) -> None:
    assert join_url(base_url, path) == url


def test_every_public_upstream_is_allowed() -> None:
    assert set(read_upstreams(public_upstreams())) == set(public_upstreams())


def test_upstreams_are_read_from_names_and_urls() -> None:
    read = read_upstreams(["OpenAI", "anthropic = http://127.0.0.1:8/ "])
    assert read == {"openai": OPENAI, "anthropic": "http://127.0.0.1:8"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("opanai=https://a.example", "there is no provider 'opanai', expected one of openai,"),
        ("openai,openai", "openai is given twice"),
        ("vllm", "vllm has no default address, expected vllm=URL"),
        ("openai=", "openai=: expected http://HOST"),
        ("openai=a.example", "expected a URL that begins with http"),
        ("openai=https://k@a.example", "a user name or password does not belong in it"),
        ("openai=https://a.example?key=1", "a query or fragment does not belong in it"),
        ("openai=http://a.example:0", "expected a port from 1 to 65535"),
        ("openai=http://127.0.0.1:65536", "expected a port from 1 to 65535"),
        ("openai=http://a.example:-1", "expected a port from 1 to 65535"),
        ("openai=http://169.254.169.254", "is not an address that calls may be sent to"),
    ],
)
def test_invalid_upstream_is_rejected_with_a_reason(entry: str, message: str) -> None:
    with pytest.raises(UpstreamError) as raised:
        read_upstreams(entry.split(","))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../../tenant-b/chat/completions",
        "/v1/models/../../admin/keys",
        "/v1/responses/%2e%2e%2fadmin",
        "/v1/responses/..%5C..%5Cadmin",
        "/v1/responses/%252e%252e%252fadmin",
        "/v1/responses/%25252525252e%25252525252e",
        "/v1/./chat/completions",
        "/v1beta/models/..%2F..%2Fkeys:generateContent",
    ],
)
def test_path_that_leaves_the_base_url_is_not_forwarded(path: str) -> None:
    with pytest.raises(NotForwarded, match="segment"):
        find_upstream_url(make_call(path, "GET"), public_upstreams(), paths=["/v1"])


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/admin/keys"), ("POST", "/v1/vector_stores"), ("DELETE", "/v1/organization/users/u")],
)
def test_path_that_is_no_route_is_not_forwarded(method: str, path: str) -> None:
    with pytest.raises(NotForwarded, match="MOCKLLM_UPSTREAM_PATHS"):
        find_upstream_url(make_call(path, method), public_upstreams())


@pytest.mark.parametrize("path", ["/v1/vector_stores", "/v1/vector_stores/v-1/files"])
def test_path_that_the_operator_lists_is_forwarded_with_all_below_it(path: str) -> None:
    call = make_call(path, "GET")
    assert (
        find_upstream_url(call, public_upstreams(), paths=["/v1/vector_stores/"])[1]
        == f"{OPENAI}{path}"
    )


def test_path_beside_a_listed_one_is_not_forwarded() -> None:
    with pytest.raises(NotForwarded):
        find_upstream_url(
            make_call("/v1/vector_stores-of-others"),
            public_upstreams(),
            paths=["/v1/vector_stores"],
        )
