"""Requests with an invalid or unusual request line or header, each with its expected status."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.hostile.provider_requests import (
    ANTHROPIC,
    CHAT,
    COUNT,
    GEMINI,
    GENERATE,
    GOOD,
    LOCAL,
    MESSAGES,
    OLLAMA,
    OPENAI,
    RESPONSES,
    Row,
    find_endpoint,
)
from tests.hostile.raw import encode_request


def paths() -> Iterator[Row]:
    """Yield paths that look like a route, and unusual request lines."""
    unknown_paths = (
        *(f"{CHAT}/", "/v1//chat/completions", f"{CHAT}//"),
        *("/v1/./chat/completions", "/v1/x/../chat/completions", "/v1/%2e%2e/v1/models"),
        *("/v1/chat%2Fcompletions", f"{CHAT}%00", f"{CHAT}%ff", f"{CHAT}%", f"{CHAT}%2"),
        *(f"{CHAT};a=1", "/v1/Chat/Completions", "/v1", "/v1/"),
        *(
            "/v1/chat/gr%C3%B6%C3%9Fe",
            "/v1/" + "a" * 8_000,
            "/v1/<script>alert(1)</script>",
            "/v1/%0d%0ax",
        ),
        *("/v1/embeddings/x/y", "/v1/stores", "/v1/messages%2fcount_tokens"),
        *(f"{RESPONSES}/", f"{RESPONSES}%2Finput_tokens", "/v1/Responses", "/openai", "/openai/"),
        *("/openai/v1", "/openai/deployments/a", "/openai/deployments/a/b/chat/completions"),
    )
    for path in unknown_paths:
        yield Row(f"POST {path[:60]}", encode_request("POST", path, GOOD, headers=OPENAI), 404)
    for path in (f"{MESSAGES}/", f"{MESSAGES}/bunches", f"{COUNT}/"):
        data = encode_request("POST", path, GOOD, headers=ANTHROPIC)
        yield Row(f"POST {path}", data, 404, "anthropic")
    for name in ("..%2f..%2fetc%2fpasswd", "%00", "%ff", "%F0%9F%99%82", "a/b", "{{ model }}"):
        path = f"/v1/models/{name.replace(' ', '%20')}"
        yield Row(f"the model {name}", encode_request("GET", path, headers=OPENAI), 404)
        stored_response = encode_request(
            "GET", f"{RESPONSES}/{name.replace(' ', '%20')}", headers=OPENAI
        )
        yield Row(f"the response {name}", stored_response, 404)
        anthropic_model = encode_request("GET", path, headers=ANTHROPIC)
        yield Row(f"Anthropic's model {name}", anthropic_model, 200, "anthropic")
    for path in (
        *(
            f"{GENERATE}/",
            "/v1beta",
            "/v1beta/",
            "/v1beta/models/",
            "/v1beta//models/m:countTokens",
        ),
        *("/v1beta/models", "/v1beta/models/m", "/%761beta/models/m:generateContent"),
        *("/v1/models/m:countTokens/", "/v1beta/files", "/v1beta/models/m/../x", f"{GENERATE}%00"),
    ):
        has_wrong_method = path.startswith("/v1beta/models") and not path.endswith("/")
        data = encode_request("POST", path, GOOD, headers=GEMINI)
        yield Row(f"POST {path}", data, 405 if has_wrong_method else 404, "gemini")
    for name in ("..%2fx", "%00", "%ff", "%F0%9F%99%82", "a/b", "{{ model }}", "m:generate"):
        path = f"/v1beta/models/{name.replace(' ', '%20')}"
        yield Row(
            f"Gemini's model {name}", encode_request("GET", path, headers=GEMINI), 404, "gemini"
        )
        data = encode_request(
            "POST",
            f"{path}:generateContent",
            find_endpoint(GENERATE).request_body('"x"'),
            headers=GEMINI,
        )
        yield Row(f"asking Gemini's model {name}", data, 200, "gemini")
    for query in ("pageSize=-1", "pageSize=x", "pageSize=%D9%A1", "pageToken=x", "pageToken=%FF"):
        data = encode_request("GET", f"/v1beta/models?{query}", headers=GEMINI)
        yield Row(f"Gemini's models, {query}", data, 400, "gemini")
    for path in (f"{LOCAL}/", "/api/ch%61t", "/api/tags/", "/api/%76ersion"):
        yield Row(f"POST {path}", encode_request("POST", path, GOOD, headers=OLLAMA), 404, "ollama")
    for name in ("../x", "\\u0000", "{{ model }}", "x" * 1_000):
        data = encode_request("POST", "/api/show", f'{{"model":"{name}"}}'.encode(), headers=OLLAMA)
        yield Row(f"Ollama's model {name[:20]}", data, 404, "ollama")
    for query in ("?", "?a", "?=&&==&%", "?" + "a=1&" * 500, "?x=%ff%00", "?stream=true"):
        data = encode_request("POST", CHAT + query, GOOD, headers=OPENAI)
        yield Row(f"the query {query[:20]}", data, 200)
    absolute = f"http://elsewhere.example{CHAT}"
    yield Row("an absolute path", encode_request("POST", absolute, GOOD, headers=OPENAI), 200)
    yield Row("a fragment", encode_request("POST", f"{CHAT}#x", GOOD, headers=OPENAI), 200)
    non_ascii_path = encode_request("POST", "/v1/größe", GOOD, headers=OPENAI)
    yield Row("a path beyond ASCII", non_ascii_path, 400, bare=True)
    yield Row("HTTP 0.9", f"GET {MESSAGES}\r\n\r\n".encode(), 405, "anthropic")
    for query in ("limit=0", "limit=-1", "limit=x", "limit=1001", "limit=%D9%A1", "limit=1e3"):
        data = encode_request("GET", f"/v1/models?{query}", headers=ANTHROPIC)
        yield Row(f"models, {query}", data, 400, "anthropic")


def methods() -> Iterator[Row]:
    """Yield methods that a route does not have, and unknown methods."""
    for method in ("GET", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "PROPFIND"):
        expected = 200 if method == "GET" else 405
        data = encode_request(method, CHAT, headers=OPENAI)
        yield Row(f"{method} {CHAT}", data, expected)
        data = encode_request(method, MESSAGES, headers=ANTHROPIC)
        yield Row(f"{method} {MESSAGES}", data, 405, "anthropic")
        for path in (GENERATE, "/v1/models/m:streamGenerateContent"):
            data = encode_request(method, path, headers=GEMINI)
            yield Row(f"{method} {path}", data, 405, "gemini")
        for path in (LOCAL, "/api/embed"):
            data = encode_request(method, path, headers=OLLAMA)
            yield Row(f"{method} {path}", data, 405, "ollama")
    yield Row("POST /v1/models", encode_request("POST", "/v1/models", b"{}", headers=OPENAI), 405)
    for method in ("FOO", "post", "G\tET", "GET\0"):
        yield Row(f"the method {method!r}", encode_request(method, CHAT, GOOD), 400, bare=True)


def headers() -> Iterator[Row]:
    """Yield unusual hosts, keys, header sizes and mockllm headers."""

    def chat_row(name: str, status: int, row_headers: Mapping[str, str], **options: Any) -> Row:
        return Row(name, encode_request("POST", CHAT, GOOD, headers=row_headers), status, **options)

    yield chat_row("a port that is none", 200, {**OPENAI, "Host": "127.0.0.1:99999"})
    for host in ("evil.example", "a b", "[::1", "", "x" * 5_000, "größe"):
        yield chat_row(f"the host {host[:20]!r}", 200, {**OPENAI, "Host": host})
    yield Row("no host", encode_request("POST", CHAT, GOOD, headers=OPENAI, host=None), 200)
    yield chat_row("two hosts", 200, {**OPENAI, "Host": "a", "host": "b"})
    yield chat_row("40 KB in a header", 431, {**OPENAI, "X-Big": "x" * 40_000})
    yield chat_row("1,000 headers", 431, {**OPENAI, **{f"X-{i}": "v" * 20 for i in range(1_000)}})
    query = encode_request("POST", f"{CHAT}?q={'x' * 20_000}", GOOD, headers=OPENAI)
    yield Row("a query of 20 KB", query, 431)
    for value in ("Bearer", "Bearer ", "Bearer \t", "Basic abc", "k", "Bearerk", "bearer"):
        yield chat_row(f"the key {value!r}", 401, {**OPENAI, "Authorization": value})
    yield chat_row("no key", 401, {"Content-Type": "application/json"})
    yield chat_row("a key of 10 KB", 200, {**OPENAI, "Authorization": f"Bearer {'k' * 10_000}"})
    yield chat_row("a key beyond ASCII", 200, {**OPENAI, "Authorization": "Bearer größe🙂"})
    yield chat_row("a session of 300 characters", 400, {**OPENAI, "X-MockLLM-Session": "s" * 300})
    yield chat_row("a session beyond ASCII", 200, {**OPENAI, "X-MockLLM-Session": "größe/🙂 %00"})
    yield chat_row("a scenario that is not there", 404, {**OPENAI, "X-MockLLM-Scenario": "nobody"})
    yield chat_row("a scenario of quotes", 404, {**OPENAI, "X-MockLLM-Scenario": "' OR 1=1 --"})
    yield chat_row("a header with NUL", 400, {**OPENAI, "X-Nul": "a\0b"}, bare=True)
    yield chat_row("a header without a name", 400, {**OPENAI, "": "x"}, bare=True)
    yield chat_row("an expectation", 200, {**OPENAI, "Expect": "something"})
    forwarding_headers = {
        **OPENAI,
        "Forwarded": "for=evil",
        "X-Forwarded-Host": "evil",
        "X-Forwarded-For": "8.8",
    }
    yield chat_row("forwarded", 200, forwarding_headers)
    yield chat_row("from nowhere", 200, {**OPENAI, "Origin": "null"})

    def messages_row(name: str, status: int, row_headers: Mapping[str, str]) -> Row:
        return Row(
            name, encode_request("POST", MESSAGES, GOOD, headers=row_headers), status, "anthropic"
        )

    yield messages_row("no version", 400, {**ANTHROPIC, "anthropic-version": ""})
    yield messages_row("any version", 200, {**ANTHROPIC, "anthropic-version": "🙂"})
    yield messages_row("Anthropic without a key", 401, {**ANTHROPIC, "x-api-key": " "})
    yield messages_row("Anthropic with 40 KB", 431, {**ANTHROPIC, "X-Big": "x" * 40_000})

    def gemini_row(name: str, status: int, row_headers: Mapping[str, str], query: str = "") -> Row:
        data = encode_request(
            "POST",
            GENERATE + query,
            find_endpoint(GENERATE).request_body('"Hello"'),
            headers=row_headers,
        )
        return Row(f"Gemini, {name}", data, status, "gemini")

    yield gemini_row("no key", 403, OLLAMA)
    yield gemini_row("an empty key", 403, {**GEMINI, "x-goog-api-key": " "}, "?key=")
    yield gemini_row("a bearer's key alone", 403, {**OLLAMA, "Authorization": "Bearer k"})
    yield gemini_row("a key in the query", 200, OLLAMA, "?key=gr%C3%B6%C3%9Fe")
    yield gemini_row("a key beyond ASCII", 200, {**GEMINI, "x-goog-api-key": "größe🙂"})
    yield gemini_row("40 KB in a header", 431, {**GEMINI, "X-Big": "x" * 40_000})
    yield gemini_row(
        "a scenario that is not there", 404, {**GEMINI, "X-MockLLM-Scenario": "nobody"}
    )

    def ollama_row(name: str, status: int, row_headers: Mapping[str, str], **options: Any) -> Row:
        data = encode_request(
            "POST",
            LOCAL,
            find_endpoint(LOCAL).request_body('"Hello"'),
            headers={**OLLAMA, **row_headers},
        )
        return Row(f"Ollama, {name}", data, status, "ollama", **options)

    yield ollama_row("any key", 200, {"Authorization": "größe"})
    yield ollama_row("40 KB in a header", 431, {"X-Big": "x" * 40_000})
    yield ollama_row("a session of 300 characters", 400, {"X-MockLLM-Session": "s" * 300})
    yield ollama_row("a scenario that is not there", 404, {"X-MockLLM-Scenario": "nobody"})
    yield ollama_row("another host", 200, {"Host": "evil.example"})
