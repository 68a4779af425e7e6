"""Invalid or unusual requests, each with its expected status.

An error must come in the provider's envelope. Bytes that are no HTTP request get the server's own
response, marked `bare`.
"""

import gzip
from collections.abc import Iterator
from typing import Any

from tests.hostile.corpus_heads import headers, methods, paths
from tests.hostile.provider_requests import (
    CHAT,
    ENDPOINTS,
    GOOD,
    MB,
    OPENAI,
    ProviderEndpoint,
    Row,
)
from tests.hostile.raw import chunked, encode_request


def bodies() -> Iterator[Row]:
    """Yield the same bodies for every endpoint."""
    for endpoint in ENDPOINTS:
        for name, body, status in _bodies(endpoint):
            data = encode_request("POST", endpoint.path, body, headers=endpoint.headers)
            yield Row(f"{endpoint.path} {name}", data, status, endpoint.provider)


def _bodies(endpoint: ProviderEndpoint) -> Iterator[tuple[str, bytes, int]]:
    body_with, valid_body = endpoint.request_body, endpoint.request_body('"Hello"')
    for invalid_body in ("", " \n", "null", "true", "[]", '"x"', "1", '{"', '{"model":}'):
        yield f"the body {invalid_body!r}", invalid_body.encode(), 400
    yield "an empty object", b"{}", endpoint.empty
    for after in (",", " x", " {}", " // well", "\0"):
        yield f"{after!r} after the body", valid_body + after.encode(), 400
    yield "single quotes", valid_body.replace(b'"', b"'"), 400
    yield "a comma too many", valid_body.replace(b"}", b",}"), 400
    for number in ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "0x10", "01", "+1", "1."):
        yield f"the number {number}", valid_body[:-1] + f',"temperature":{number}}}'.encode(), 400
    yield "5,000 digits", valid_body[:-1] + b',"seed":' + b"9" * 5_000 + b"}", 400
    yield "5,000 digits of tokens", valid_body.replace(b"9", b"9" * 5_000), 400
    yield "2 to the 64th tokens", valid_body.replace(b"9", str(2**64).encode()), 200
    yield "true tokens", valid_body.replace(b"9", b"true"), 400
    yield "a lone surrogate, escaped", body_with(r'"\ud800"'), 400
    yield "a lone surrogate, raw", body_with('"X"').replace(b"X", b"\xed\xa0\x80"), 400
    yield "surrogates the wrong way round", body_with(r'"\udc00\ud800"'), 400
    yield "half an escape", body_with(r'"\u12"'), 400
    yield "no such escape", body_with(r'"\q"'), 400
    yield "not UTF-8", body_with('"X"').replace(b"X", b"\xff\xfe"), 400
    yield "overlong UTF-8", body_with('"X"').replace(b"X", b"\xc0\xaf"), 400
    yield "beyond Unicode", body_with('"X"').replace(b"X", b"\xf4\x90\x80\x80"), 400
    yield "a byte order mark", b"\xef\xbb\xbf" + valid_body, 400
    for coding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        yield coding, valid_body.decode().encode(coding), 400
    yield "NUL, raw", body_with('"\0"'), 400
    yield "NUL, escaped", body_with(r'"\u0000"'), 200
    yield "a line break in a string", body_with('"\n"'), 400
    yield "duplicate keys", b'{"model":1,' + valid_body[1:], 200
    yield "100 levels", body_with("[" * 100 + "]" * 100), 400
    yield "100,000 levels of arrays", body_with("[" * 100_000 + "]" * 100_000), 400
    yield "100,000 levels of objects", body_with('{"a":' * 100_000 + "1" + "}" * 100_000), 400
    yield "100,000 levels never closed", b"[" * 100_000, 400
    yield "200,000 values", body_with("[" + "0," * 200_000 + "0]"), 400
    yield "10,001 messages", body_with('"x"', times=10_001), 400
    yield "a key of 1 MB", valid_body[:-1] + b',"' + b"k" * MB + b'":1}', 200
    yield "a text of 9 MB", body_with('"' + "x" * 9 * MB + '"'), 200
    yield "11 MB", body_with('"' + "x" * 11 * MB + '"'), 413


def framing() -> Iterator[Row]:
    """Yield bodies that contradict their length, encoding or content type."""
    post = ("POST", CHAT)

    def chat_row(name: str, status: int, body: bytes = GOOD, **options: Any) -> Row:
        row_options = {key: options.pop(key) for key in ("bare", "half_close") if key in options}
        headers = {**OPENAI, **options.pop("headers", {})}
        return Row(
            name, encode_request(*post, body, headers=headers, **options), status, **row_options
        )

    coded = {"Transfer-Encoding": "chunked"}
    yield chat_row("chunked", 200, chunked(GOOD), headers=coded)
    yield chat_row("chunked, a byte each", 200, chunked(GOOD, size=1), headers=coded)
    yield chat_row("chunked, 11 MB", 413, chunked(b" " * 11 * MB), headers=coded)
    yield chat_row("chunks without a size", 400, b"zz\r\n{}\r\n0\r\n\r\n", headers=coded, bare=True)
    yield chat_row("chunks that end too early", 0, b"5\r\n{", headers=coded, half_close=True)
    yield chat_row("longer than it is", 0, length=len(GOOD) + 9, half_close=True)
    yield chat_row("shorter than it is", 400, length=len(GOOD) - 9, bare=True)
    yield chat_row("of negative length", 400, length=-1, bare=True)
    yield chat_row("of no whole length", 400, headers={"Content-Length": "1.5"}, bare=True)
    yield chat_row("a length of 30 digits", 400, headers={"Content-Length": "9" * 30}, bare=True)
    two_lengths = {"Transfer-Encoding": "chunked", "Content-Length": "5"}
    yield chat_row("a length, and chunked", 400, chunked(GOOD), headers=two_lengths, bare=True)
    yield chat_row("gzip", 415, gzip.compress(GOOD), headers={"Content-Encoding": "gzip"})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "x", "application/json; q"):
        yield chat_row(f"JSON as {kind}", 200, headers={"Content-Type": kind})
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    yield chat_row("multipart", 400, b"--b\r\n\r\n{}\r\n--b--\r\n", headers=form)
    yield chat_row("a form", 400, b"model=m&messages=x")
    early = encode_request(*post, GOOD, headers=OPENAI)[: -len(GOOD) - 20]
    yield Row("half a head", early, 0, half_close=True)
    for name, request in (
        ("garbage", b"GARBAGE\r\n\r\n"),
        ("another protocol", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 32),
        ("HTTP 9.9", f"GET {CHAT} HTTP/9.9\r\nHost: x\r\n\r\n".encode()),
    ):
        yield Row(name, request, 400, bare=True)


GROUPS = {
    "bodies": bodies,
    "framing": framing,
    "paths": paths,
    "methods": methods,
    "headers": headers,
}
