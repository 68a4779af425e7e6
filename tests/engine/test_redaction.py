"""Secrets in requests and answers are masked."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine import redaction
from scenarios_app.engine.redaction import (
    redact_body,
    redact_pairs,
    redact_text,
)
from scenarios_app.engine.secrets import is_secret, mask, secrets_of

SECRET = "sk-ant-1234567890abcdef"


@pytest.mark.parametrize(
    ("secret", "masked"),
    [
        (SECRET, "***cdef"),
        (f"Bearer {SECRET}", "Bearer ***cdef"),
        (f"basic {SECRET}", "basic ***cdef"),
        ("123456789012", "***9012"),
        ("12345678901", "***"),
        ("", "***"),
    ],
)
def test_last_four_characters_of_a_long_secret_are_kept(secret: str, masked: str) -> None:
    assert mask(secret) == masked


@pytest.mark.parametrize(
    "name",
    [
        "authorization",
        "Authorization",
        "proxy-authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "cookie",
        "set-cookie",
    ],
)
def test_secret_headers_are_masked(name: str) -> None:
    assert redact_pairs([(name, SECRET), ("accept", SECRET)]) == {
        name: "***cdef",
        "accept": SECRET,
    }


def test_a_repeated_header_keeps_all_its_values() -> None:
    headers = [("set-cookie", SECRET), ("vary", "a"), ("set-cookie", "short"), ("vary", "b")]
    assert redact_pairs(headers) == {"set-cookie": "***cdef, ***", "vary": "a, b"}


def test_the_key_of_a_query_is_masked() -> None:
    assert redact_pairs({"key": SECRET, "alt": "sse"}.items()) == {"key": "***cdef", "alt": "sse"}


@pytest.mark.parametrize(
    ("body", "masked_body"),
    [
        (f'{{"Authorization": "Bearer {SECRET}"}}', '{"Authorization": "Bearer ***cdef"}'),
        (
            f'{{"a": [{{"x_api_key" : "{SECRET}", "b": 1}}]}}',
            '{"a": [{"x_api_key" : "***cdef", "b": 1}]}',
        ),
        (f'{{"cookie": ["a", {{"b": "}}"}}, "{SECRET}"], "c": 2}}', '{"cookie": "***", "c": 2}'),
        (f'{{"api-key": "{SECRET}', '{"api-key": "***cdef'),
        (f'{{"api-key": ["{SECRET}', '{"api-key": "***"'),
        ('{"api-key": null, "token": 5}', '{"api-key": null, "token": 5}'),
        (r'{"api-key": "a \" b \\"}', '{"api-key": "***"}'),
        (json.dumps({"x": f'{{"api-key": "{SECRET}"}}'}), r'{"x": "{\"api-key\": \"***cdef\"}"}'),
        (json.dumps({"x": f'{{"cookie": ["{SECRET}"]}}'}), r'{"x": "{\"cookie\": \"***\"}"}'),
        (f'{{"notes": "{SECRET}"}}', f'{{"notes": "{SECRET}"}}'),
        (f'{{"auth": ["{SECRET}", "b"], "c": 2}}', '{"auth": "***", "c": 2}'),
        (f'{{"keys": [{{"a": "{SECRET}"}}]}}', f'{{"keys": [{{"a": "{SECRET}"}}]}}'),
        (f'{{"İ": 1, "accessToken": "{SECRET}"}}', '{"İ": 1, "accessToken": "***cdef"}'),
        (
            '{"properties": {"api_token": {"type": "string"}}}',
            '{"properties": {"api_token": {"type": "string"}}}',
        ),
        ('{"max_tokens": 5, "keyword": "weather"}', '{"max_tokens": 5, "keyword": "weather"}'),
        (
            f'{{"type": "thinking", "thinking": "x", "signature": "{SECRET}"}}',
            f'{{"type": "thinking", "thinking": "x", "signature": "{SECRET}"}}',
        ),
        (f'{{"a": {{"signature": "{SECRET}"}}}}', '{"a": {"signature": "***cdef"}}'),
        (f'{{"thoughtSignature": "{SECRET}"}}', f'{{"thoughtSignature": "{SECRET}"}}'),
        ("authorization: none of this is JSON", "authorization: none of this is JSON"),
    ],
)
def test_values_of_secret_names_in_a_body_are_masked(body: str, masked_body: str) -> None:
    assert redact_body(body) == masked_body


json_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "authorization", "X-Api-Key"]), inner, max_size=3)
    ),
)


@settings(deadline=None)
@given(json_values, st.integers(0, 200))
def test_a_cut_body_shows_no_secret_and_a_whole_one_stays_json(value: object, cut: int) -> None:
    body = json.dumps({"first": value, "authorization": {"deep": [SECRET, value]}, "last": 1})
    assert SECRET[:-4] not in redact_body(body[:cut])
    redacted = json.loads(redact_body(body))
    assert redacted["authorization"] == "***"
    assert redacted["last"] == 1


def test_backslashes_take_linear_time() -> None:
    body = '{"a": "' + "\\" * 60_000 + '"}'
    assert redact_body(body) == body


def test_secrets_of_a_request_are_masked_in_other_texts() -> None:
    headers = {"authorization": f"Bearer {SECRET}", "cookie": "sid=abcdefgh12345; b=1", "x": "y"}
    secrets = secrets_of(headers, {"key": "q-123456789", "alt": "sse-long-value"})
    assert secrets == (SECRET, "abcdefgh12345", "q-123456789")
    text = redact_text(f"you sent {SECRET} and abcdefgh12345", secrets)
    assert text == "you sent ***cdef and ***2345"


def test_short_secret_is_not_searched_for() -> None:
    assert secrets_of({"authorization": "Bearer x"}, {}) == ()


def test_a_list_within_a_text_ends_with_the_text() -> None:
    body = r'{"text": "{\"cookie\": {\"a\": 1", "b": 2}'
    assert redact_body(body) == r'{"text": "{\"cookie\": \"***\"", "b": 2}'


def test_secret_names_inside_a_masked_value_are_masked_with_it() -> None:
    assert redact_body('{"password": ["a", {"token": "b"}]}') == '{"password": "***"}'


NAME_PARTS = [
    "token",
    "tokens",
    "Token",
    "TOKENS",
    "tokenS",
    "s",
    "tuff",
    "é",
    "_",
    "-",
    "Count",
    "K",
]
ODD_NAME_PARTS = [
    "key",
    "\u212a",
    "ſig",
    "AUTH",
    "author",
    " ",
    "1",
    "\n",
    '"',
    ":",
    "\\",
    "x" * 190,
]
NAMES = st.lists(st.sampled_from([*NAME_PARTS, *ODD_NAME_PARTS]), max_size=5).map("".join)
COLON = st.sampled_from([":", " :", "\t\n: ", "\x1c:", "\x85:", "\xa0\u2028:", "", ",", "é:"])
VALUES = st.sampled_from(["1", '"sk-live-1234567890"', '"sk-', '["sk-live-1"]', '{"a": ["b"]}', ""])


@given(st.text(max_size=3), st.sampled_from([0, 0, 1, 3, 7, 8]), NAMES, COLON, VALUES)
def test_fast_path_gives_the_same_as_parsing(
    before: str, depth: int, name: str, colon: str, value: str
) -> None:
    """Bodies without secret names are returned without parsing; the result is the same."""
    quote = "\\" * depth + '"'
    body = before + quote + name + quote + colon + value.replace('"', quote)
    assert redact_body(body) == redaction._redact_keys(body)


@pytest.mark.parametrize("name", ["usertokens", "Atokens", "mytoken", "TOKEN", "tokens_key"])
def test_each_stem_makes_a_name_secret(name: str) -> None:
    assert redact_body(f'{{"{name}": "{SECRET}"}}') == f'{{"{name}": "***cdef"}}'


HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["accept", "x-key", "set-cookie", "Set-Cookie", "x-mockllm-session"]),
        st.sampled_from(["", "a", f"Bearer {SECRET}", SECRET]),
    ),
    max_size=6,
)


@given(HEADERS)
def test_repeated_headers_are_masked_separately(headers: list[tuple[str, str]]) -> None:
    masked_headers: dict[str, list[str]] = {}
    for name, value in headers:
        masked_headers.setdefault(name, []).append(mask(value) if is_secret(name) else value)
    assert redact_pairs(headers) == {
        name: ", ".join(values) for name, values in masked_headers.items()
    }


@pytest.mark.parametrize(
    "item", ['"signature":"secret-1",', '"password":["secret-1"],', '"password":[1],']
)
def test_redaction_takes_linear_time(item: str) -> None:
    def seconds(count: int) -> float:
        body = item * count
        start = time.process_time()
        assert "secret-1" not in redaction.redact_body(body)
        return time.process_time() - start

    seconds(100)
    # Sixteen times as many keys; a search of the whole body for each would take 256 times as long.
    assert seconds(16_000) < 60 * max(seconds(1_000), 0.002)


def test_signature_beside_thinking_of_usual_length_is_kept() -> None:
    block = '{"type":"thinking","thinking":"' + "x" * 30_000 + '","signature":"Eq0B"}'
    assert redaction.redact_body(block * 3) == block * 3
