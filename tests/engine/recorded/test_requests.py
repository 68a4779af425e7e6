"""Compared requests: bodies, queries, secrets, and their likeness."""

import json

import pytest

from scenarios_app.engine.canonical import SentRequest, depth_of
from scenarios_app.engine.recorded.requests import (
    ComparedRequest,
    decode_body,
    digest_of,
    rules_needed,
    to_compared_request,
)
from scenarios_app.engine.recorded.rules import RULE_NAMES
from tests.engine.recorded.raw_requests import compared_request


def post_request(body: object, *exact: str) -> ComparedRequest:
    return compared_request("POST", {}, json.dumps(body), exact=frozenset(exact))


def test_digest_depends_on_the_compared_fields_only() -> None:
    request = post_request({"messages": [{"id": "a", "content": "hi"}]})
    assert request.digest == post_request({"messages": [{"content": "hi", "id": "b"}]}).digest
    assert request.digest != post_request({"messages": [{"id": "a", "content": "ho"}]}).digest
    assert request.digest != compared_request("PUT", {}, json.dumps(request.body)).digest


@pytest.mark.parametrize(
    ("body", "decoded"),
    [
        (b"", None),
        (b"  \n", None),
        (b'{"a": 1}', {"a": 1}),
        (b"[1]", [1]),
        (b'"text"', '"text"'),
        (b"plain", "plain"),
        ('{"a": NaN}', {"a": "NaN"}),
        (b"{broken", "{broken"),
    ],
)
def test_body_is_decoded_as_json_text_or_none(body: bytes | str, decoded: object) -> None:
    assert decode_body(body) == decoded


def test_binary_body_is_represented_by_its_hash() -> None:
    assert decode_body(b"\xff\xfe") == decode_body(b"\xff\xfe") != decode_body(b"\xff\xfd")
    assert str(decode_body(b"\xff\xfe")).startswith("<2 bytes ")


def test_deeply_nested_body_is_compared_as_text() -> None:
    deep = "[" * 300 + "]" * 300
    assert decode_body(deep) == deep
    assert decode_body("[" * 100_000) == "[" * 100_000
    assert depth_of([[{"a": [1]}]]) == 5


def test_query_is_compared_without_a_body_and_without_its_secrets() -> None:
    request = compared_request("GET", {"limit": "1", "key": "secret"}, b"")
    assert request.digest == compared_request("GET", {"limit": "1"}, b"").digest
    assert request.digest != compared_request("GET", {"limit": "2"}, b"").digest
    assert (
        compared_request("POST", {"alt": "sse"}, "{}").digest
        == compared_request("POST", {}, "{}").digest
    )
    exact = frozenset({"query"})
    assert (
        compared_request("POST", {"alt": "sse"}, "{}", exact=exact).digest
        != compared_request("POST", {}, "{}", exact=exact).digest
    )


def test_likeness_is_higher_for_more_similar_requests() -> None:
    request = post_request({"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    similar_request = post_request({"model": "m", "messages": [{"role": "user", "content": "ho"}]})
    other_request = post_request({"contents": [{"parts": [{"text": "x"}]}]})
    assert request.likeness(request) == 1.0
    assert 0 < request.likeness(other_request) + 0.01 < request.likeness(similar_request) < 1
    assert compared_request("GET", {}, b"").likeness(compared_request("GET", {}, b"")) == 1.0
    assert request.likeness(compared_request("PUT", {}, json.dumps(request.body))) == 0.5


def test_sent_request_is_parsed_once_for_each_set_of_rules() -> None:
    sent_request = SentRequest("POST", {}, b'{"a": "2026-05-01"}')
    compared = to_compared_request(sent_request)
    assert to_compared_request(sent_request) is compared
    compared_exactly = to_compared_request(sent_request, RULE_NAMES)
    assert compared_exactly is not compared and compared_exactly.body is compared.body
    assert compared_exactly.digest != compared.digest


def test_sent_request_is_compared_without_its_secrets() -> None:
    body = json.dumps({"content": json.dumps({"token": "abcdefghijklmnop"})}).encode()
    assert "abcdefghijkl" not in json.dumps(to_compared_request(SentRequest("POST", {}, body)).body)
    assert to_compared_request(SentRequest("POST", {}, b"\xff")).body == decode_body(b"\xff")


def test_required_rules_of_two_requests_are_listed() -> None:
    first = post_request({"id": "a", "user": "x", "t": "2026-05-01"})
    second = post_request({"id": "b", "user": "y", "t": "2026-05-01"})
    assert rules_needed(first, second) == ("ids", "labels")
    assert rules_needed(first, first) == ()
    requests_with_exact_ids = (post_request({"id": "a", "user": name}, "ids") for name in "xy")
    assert rules_needed(*requests_with_exact_ids) == ("labels",)


def test_digest_ignores_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1}) != digest_of({"a": 1})
