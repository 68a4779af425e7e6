"""Requests that nobody should send, and the one status that each of them deserves.

What a row expects beside its status follows from it: an error comes in the provider's envelope,
and bytes that are no HTTP request get the server's own answer, marked `bare`.
"""

import gzip
from collections.abc import Iterator
from typing import Any

from tests.hostile.asked_ways import CHAT, GOOD, MB, OPENAI, WAYS, Row, Spoken
from tests.hostile.corpus_heads import headers, methods, paths
from tests.hostile.raw import chunked, message


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


GROUPS = {
    "bodies": bodies,
    "framing": framing,
    "paths": paths,
    "methods": methods,
    "headers": headers,
}
