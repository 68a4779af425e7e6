"""Requests that nobody should send, and the one status that each of them deserves.

What a row expects beside its status follows from it: an error comes in the provider's envelope,
and bytes that are no HTTP request get the server's own answer, marked `bare`.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.hostile.raw import chunked, message

RESPONSES, COMPLETIONS = "/v1/responses", "/v1/completions"
CHAT, MESSAGES, COUNT = "/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"
GENERATE = "/v1beta/models/m:generateContent"
LOCAL = "/api/chat"
OPENAI = {"Authorization": "Bearer k", "Content-Type": "application/json"}
ANTHROPIC = {
    "x-api-key": "k",
    "anthropic-version": "2023-06-01",
    "Content-Type": "application/json",
}
GEMINI = {"x-goog-api-key": "k", "Content-Type": "application/json"}
OLLAMA = {"Content-Type": "application/json"}
VALID: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hello"}],
}
GOOD = json.dumps(VALID).encode()
MB = 1_000_000


@dataclass(frozen=True)
class Row:
    """`provider`: whose envelope an error has to have. `django`: what the view's answer is instead,
    since Django looks at hosts and the door in front of it does not."""

    name: str
    data: bytes
    status: int
    provider: str = "openai"
    bare: bool = False
    half_close: bool = False
    django: int | None = None


@dataclass(frozen=True)
class Spoken:
    """One provider's way to be asked: for no stream, with `turns` that say something in JSON and
    a limit of 9 tokens. `empty` is the status that nothing at all deserves."""

    provider: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = '{"model":"m","max_tokens":9,"messages":[%s]}'
    turn: str = '{"role":"user","content":%s}'
    empty: int = 400

    def saying(self, content: str, *, times: int = 1) -> bytes:
        return (self.body % ",".join([self.turn % content] * times)).encode()


WAYS = (
    Spoken("openai", CHAT, OPENAI),
    Spoken(
        "openai",
        RESPONSES,
        OPENAI,
        body='{"model":"m","max_output_tokens":9,"input":[%s]}',
        empty=200,
    ),
    Spoken(
        "openai",
        COMPLETIONS,
        OPENAI,
        body='{"model":"m","max_tokens":9,"prompt":[%s]}',
        turn="%s",
    ),
    Spoken("anthropic", MESSAGES, ANTHROPIC),
    Spoken("anthropic", COUNT, ANTHROPIC),
    *(
        Spoken(
            "gemini",
            path,
            GEMINI,
            body='{"generationConfig":{"maxOutputTokens":9},"contents":[%s]}',
            turn='{"role":"user","parts":[{"text":%s}]}',
        )
        for path in (GENERATE, "/v1/models/m:countTokens?key=k")
    ),
    Spoken(
        "ollama",
        LOCAL,
        OLLAMA,
        body='{"model":"m","stream":false,"options":{"num_predict":9},"messages":[%s]}',
    ),
)


def way_to(path: str) -> Spoken:
    return next(way for way in WAYS if way.path == path)


def bodies() -> Iterator[Row]:
    """The same bodies for every way to ask."""
    for way in WAYS:
        for name, body, status in _bodies(way):
            data = message("POST", way.path, body, headers=way.headers)
            yield Row(f"{way.path} {name}", data, status, way.provider)


def _bodies(way: Spoken) -> Iterator[tuple[str, bytes, int]]:
    saying, good = way.saying, way.saying('"Hello"')
    for wrong in ("", " \n", "null", "true", "[]", '"x"', "1", '{"', '{"model":}'):
        yield f"the body {wrong!r}", wrong.encode(), 400
    yield "an empty object", b"{}", way.empty
    for after in (",", " x", " {}", " // well", "\0"):
        yield f"{after!r} after the body", good + after.encode(), 400
    yield "single quotes", good.replace(b'"', b"'"), 400
    yield "a comma too many", good.replace(b"}", b",}"), 400
    for number in ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "0x10", "01", "+1", "1."):
        yield f"the number {number}", good[:-1] + f',"temperature":{number}}}'.encode(), 400
    yield "5,000 digits", good[:-1] + b',"seed":' + b"9" * 5_000 + b"}", 400
    yield "5,000 digits of tokens", good.replace(b"9", b"9" * 5_000), 400
    yield "2 to the 64th tokens", good.replace(b"9", str(2**64).encode()), 200
    yield "true tokens", good.replace(b"9", b"true"), 400
    yield "a lone surrogate, escaped", saying(r'"\ud800"'), 400
    yield "a lone surrogate, raw", saying('"X"').replace(b"X", b"\xed\xa0\x80"), 400
    yield "surrogates the wrong way round", saying(r'"\udc00\ud800"'), 400
    yield "half an escape", saying(r'"\u12"'), 400
    yield "no such escape", saying(r'"\q"'), 400
    yield "not UTF-8", saying('"X"').replace(b"X", b"\xff\xfe"), 400
    yield "overlong UTF-8", saying('"X"').replace(b"X", b"\xc0\xaf"), 400
    yield "beyond Unicode", saying('"X"').replace(b"X", b"\xf4\x90\x80\x80"), 400
    yield "a byte order mark", b"\xef\xbb\xbf" + good, 400
    for coding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        yield coding, good.decode().encode(coding), 400
    yield "NUL, raw", saying('"\0"'), 400
    yield "NUL, escaped", saying(r'"\u0000"'), 200
    yield "a line break in a string", saying('"\n"'), 400
    yield "duplicate keys", b'{"model":1,' + good[1:], 200
    yield "100 levels", saying("[" * 100 + "]" * 100), 400
    yield "100,000 levels of arrays", saying("[" * 100_000 + "]" * 100_000), 400
    yield "100,000 levels of objects", saying('{"a":' * 100_000 + "1" + "}" * 100_000), 400
    yield "100,000 levels never closed", b"[" * 100_000, 400
    yield "200,000 values", saying("[" + "0," * 200_000 + "0]"), 400
    yield "10,001 messages", saying('"x"', times=10_001), 400
    yield "a key of 1 MB", good[:-1] + b',"' + b"k" * MB + b'":1}', 200
    yield "a text of 9 MB", saying('"' + "x" * 9 * MB + '"'), 200
    yield "11 MB", saying('"' + "x" * 11 * MB + '"'), 413


def framing() -> Iterator[Row]:
    """Bodies that do not come as they say they do, and what they say they are."""
    post = ("POST", CHAT)

    def sent(name: str, status: int, body: bytes = GOOD, **more: Any) -> Row:
        rest = {key: more.pop(key) for key in ("bare", "half_close") if key in more}
        headers = {**OPENAI, **more.pop("headers", {})}
        return Row(name, message(*post, body, headers=headers, **more), status, **rest)

    coded = {"Transfer-Encoding": "chunked"}
    yield sent("chunked", 200, chunked(GOOD), headers=coded)
    yield sent("chunked, a byte each", 200, chunked(GOOD, size=1), headers=coded)
    yield sent("chunked, 11 MB", 413, chunked(b" " * 11 * MB), headers=coded)
    yield sent("chunks without a size", 400, b"zz\r\n{}\r\n0\r\n\r\n", headers=coded, bare=True)
    yield sent("chunks that end too early", 0, b"5\r\n{", headers=coded, half_close=True)
    yield sent("longer than it is", 0, length=len(GOOD) + 9, half_close=True)
    yield sent("shorter than it is", 400, length=len(GOOD) - 9, bare=True)
    yield sent("of negative length", 400, length=-1, bare=True)
    yield sent("of no whole length", 400, headers={"Content-Length": "1.5"}, bare=True)
    yield sent("a length of 30 digits", 400, headers={"Content-Length": "9" * 30}, bare=True)
    both = {"Transfer-Encoding": "chunked", "Content-Length": "5"}
    yield sent("a length, and chunked", 400, chunked(GOOD), headers=both, bare=True)
    yield sent("gzip", 400, gzip.compress(GOOD), headers={"Content-Encoding": "gzip"})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "x", "application/json; q"):
        yield sent(f"JSON as {kind}", 200, headers={"Content-Type": kind})
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    yield sent("multipart", 400, b"--b\r\n\r\n{}\r\n--b--\r\n", headers=form)
    yield sent("a form", 400, b"model=m&messages=x")
    early = message(*post, GOOD, headers=OPENAI)[: -len(GOOD) - 20]
    yield Row("half a head", early, 0, half_close=True)
    for name, data in (
        ("garbage", b"GARBAGE\r\n\r\n"),
        ("another protocol", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 32),
        ("HTTP 9.9", f"GET {CHAT} HTTP/9.9\r\nHost: x\r\n\r\n".encode()),
    ):
        yield Row(name, data, 400, bare=True)


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


GROUPS = {
    "bodies": bodies,
    "framing": framing,
    "paths": paths,
    "methods": methods,
    "headers": headers,
}
