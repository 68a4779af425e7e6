"""Requests whose first line or headers nobody should send, and the status that each deserves."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.hostile.asked_ways import (
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
    way_to,
)
from tests.hostile.raw import message


def paths() -> Iterator[Row]:
    """Paths that look like a route, and what else stands in a request line."""
    missing = (
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
    for path in missing:
        yield Row(f"POST {path[:60]}", message("POST", path, GOOD, headers=OPENAI), 404)
    for path in (f"{MESSAGES}/", f"{MESSAGES}/bunches", f"{COUNT}/"):
        data = message("POST", path, GOOD, headers=ANTHROPIC)
        yield Row(f"POST {path}", data, 404, "anthropic")
    for name in ("..%2f..%2fetc%2fpasswd", "%00", "%ff", "%F0%9F%99%82", "a/b", "{{ model }}"):
        path = f"/v1/models/{name.replace(' ', '%20')}"
        yield Row(f"the model {name}", message("GET", path, headers=OPENAI), 404)
        kept = message("GET", f"{RESPONSES}/{name.replace(' ', '%20')}", headers=OPENAI)
        yield Row(f"the response {name}", kept, 404)
        claude = message("GET", path, headers=ANTHROPIC)
        yield Row(f"Anthropic's model {name}", claude, 200, "anthropic")
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
        wrong = path.startswith("/v1beta/models") and not path.endswith("/")
        data = message("POST", path, GOOD, headers=GEMINI)
        yield Row(f"POST {path}", data, 405 if wrong else 404, "gemini")
    for name in ("..%2fx", "%00", "%ff", "%F0%9F%99%82", "a/b", "{{ model }}", "m:generate"):
        path = f"/v1beta/models/{name.replace(' ', '%20')}"
        yield Row(f"Gemini's model {name}", message("GET", path, headers=GEMINI), 404, "gemini")
        data = message(
            "POST", f"{path}:generateContent", way_to(GENERATE).saying('"x"'), headers=GEMINI
        )
        yield Row(f"asking Gemini's model {name}", data, 200, "gemini")
    for given in ("pageSize=-1", "pageSize=x", "pageSize=%D9%A1", "pageToken=x", "pageToken=%FF"):
        data = message("GET", f"/v1beta/models?{given}", headers=GEMINI)
        yield Row(f"Gemini's models, {given}", data, 400, "gemini")
    for path in (f"{LOCAL}/", "/api/ch%61t", "/api/tags/", "/api/%76ersion"):
        yield Row(f"POST {path}", message("POST", path, GOOD, headers=OLLAMA), 404, "ollama")
    for name in ("../x", "\\u0000", "{{ model }}", "x" * 1_000):
        data = message("POST", "/api/show", f'{{"model":"{name}"}}'.encode(), headers=OLLAMA)
        yield Row(f"Ollama's model {name[:20]}", data, 404, "ollama")
    for query in ("?", "?a", "?=&&==&%", "?" + "a=1&" * 500, "?x=%ff%00", "?stream=true"):
        data = message("POST", CHAT + query, GOOD, headers=OPENAI)
        yield Row(f"the query {query[:20]}", data, 200)
    absolute = f"http://elsewhere.example{CHAT}"
    yield Row("an absolute path", message("POST", absolute, GOOD, headers=OPENAI), 200)
    yield Row("a fragment", message("POST", f"{CHAT}#x", GOOD, headers=OPENAI), 200)
    raw = message("POST", "/v1/größe", GOOD, headers=OPENAI)
    yield Row("a path beyond ASCII", raw, 400, bare=True)
    yield Row("HTTP 0.9", f"GET {MESSAGES}\r\n\r\n".encode(), 405, "anthropic")
    for given in ("limit=0", "limit=-1", "limit=x", "limit=1001", "limit=%D9%A1", "limit=1e3"):
        data = message("GET", f"/v1/models?{given}", headers=ANTHROPIC)
        yield Row(f"models, {given}", data, 400, "anthropic")


def methods() -> Iterator[Row]:
    """Methods that a route does not have, and methods that nobody has."""
    for method in ("GET", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "PROPFIND"):
        expected = 200 if method == "GET" else 405
        data = message(method, CHAT, headers=OPENAI)
        yield Row(f"{method} {CHAT}", data, expected)
        data = message(method, MESSAGES, headers=ANTHROPIC)
        yield Row(f"{method} {MESSAGES}", data, 405, "anthropic")
        for path in (GENERATE, "/v1/models/m:streamGenerateContent"):
            data = message(method, path, headers=GEMINI)
            yield Row(f"{method} {path}", data, 405, "gemini")
        for path in (LOCAL, "/api/embed"):
            data = message(method, path, headers=OLLAMA)
            yield Row(f"{method} {path}", data, 405, "ollama")
    yield Row("POST /v1/models", message("POST", "/v1/models", b"{}", headers=OPENAI), 405)
    for method in ("FOO", "post", "G\tET", "GET\0"):
        yield Row(f"the method {method!r}", message(method, CHAT, GOOD), 400, bare=True)


def headers() -> Iterator[Row]:
    """Hosts, keys, sizes and our own headers, each as it should not be."""

    def sent(name: str, status: int, given: Mapping[str, str], **more: Any) -> Row:
        return Row(name, message("POST", CHAT, GOOD, headers=given), status, **more)

    yield sent("a port that is none", 200, {**OPENAI, "Host": "127.0.0.1:99999"})
    for host in ("evil.example", "a b", "[::1", "", "x" * 5_000, "größe"):
        yield sent(f"the host {host[:20]!r}", 200, {**OPENAI, "Host": host}, django=400)
    yield Row("no host", message("POST", CHAT, GOOD, headers=OPENAI, host=None), 200)
    yield sent("two hosts", 200, {**OPENAI, "Host": "a", "host": "b"}, django=400)
    yield sent("40 KB in a header", 431, {**OPENAI, "X-Big": "x" * 40_000})
    yield sent("1,000 headers", 431, {**OPENAI, **{f"X-{i}": "v" * 20 for i in range(1_000)}})
    query = message("POST", f"{CHAT}?q={'x' * 20_000}", GOOD, headers=OPENAI)
    yield Row("a query of 20 KB", query, 431)
    for value in ("Bearer", "Bearer ", "Bearer \t", "Basic abc", "k", "Bearerk", "bearer"):
        yield sent(f"the key {value!r}", 401, {**OPENAI, "Authorization": value})
    yield sent("no key", 401, {"Content-Type": "application/json"})
    yield sent("a key of 10 KB", 200, {**OPENAI, "Authorization": f"Bearer {'k' * 10_000}"})
    yield sent("a key beyond ASCII", 200, {**OPENAI, "Authorization": "Bearer größe🙂"})
    yield sent("a session of 300 characters", 400, {**OPENAI, "X-MockLLM-Session": "s" * 300})
    yield sent("a session beyond ASCII", 200, {**OPENAI, "X-MockLLM-Session": "größe/🙂 %00"})
    yield sent("a scenario that is not there", 404, {**OPENAI, "X-MockLLM-Scenario": "nobody"})
    yield sent("a scenario of quotes", 404, {**OPENAI, "X-MockLLM-Scenario": "' OR 1=1 --"})
    yield sent("a header with NUL", 400, {**OPENAI, "X-Nul": "a\0b"}, bare=True)
    yield sent("a header without a name", 400, {**OPENAI, "": "x"}, bare=True)
    yield sent("an expectation", 200, {**OPENAI, "Expect": "something"})
    odd = {**OPENAI, "Forwarded": "for=evil", "X-Forwarded-Host": "evil", "X-Forwarded-For": "8.8"}
    yield sent("forwarded", 200, odd)
    yield sent("from nowhere", 200, {**OPENAI, "Origin": "null"})

    def asked(name: str, status: int, given: Mapping[str, str]) -> Row:
        return Row(name, message("POST", MESSAGES, GOOD, headers=given), status, "anthropic")

    yield asked("no version", 400, {**ANTHROPIC, "anthropic-version": ""})
    yield asked("any version", 200, {**ANTHROPIC, "anthropic-version": "🙂"})
    yield asked("Anthropic without a key", 401, {**ANTHROPIC, "x-api-key": " "})
    yield asked("Anthropic with 40 KB", 431, {**ANTHROPIC, "X-Big": "x" * 40_000})

    def google(name: str, status: int, given: Mapping[str, str], query: str = "") -> Row:
        data = message("POST", GENERATE + query, way_to(GENERATE).saying('"Hello"'), headers=given)
        return Row(f"Gemini, {name}", data, status, "gemini")

    yield google("no key", 403, OLLAMA)
    yield google("an empty key", 403, {**GEMINI, "x-goog-api-key": " "}, "?key=")
    yield google("a bearer's key alone", 403, {**OLLAMA, "Authorization": "Bearer k"})
    yield google("a key in the query", 200, OLLAMA, "?key=gr%C3%B6%C3%9Fe")
    yield google("a key beyond ASCII", 200, {**GEMINI, "x-goog-api-key": "größe🙂"})
    yield google("40 KB in a header", 431, {**GEMINI, "X-Big": "x" * 40_000})
    yield google("a scenario that is not there", 404, {**GEMINI, "X-MockLLM-Scenario": "nobody"})

    def local(name: str, status: int, given: Mapping[str, str], **more: Any) -> Row:
        data = message("POST", LOCAL, way_to(LOCAL).saying('"Hello"'), headers={**OLLAMA, **given})
        return Row(f"Ollama, {name}", data, status, "ollama", **more)

    yield local("any key", 200, {"Authorization": "größe"})
    yield local("40 KB in a header", 431, {"X-Big": "x" * 40_000})
    yield local("a session of 300 characters", 400, {"X-MockLLM-Session": "s" * 300})
    yield local("a scenario that is not there", 404, {"X-MockLLM-Scenario": "nobody"})
    yield local("another host", 200, {"Host": "evil.example"}, django=400)
