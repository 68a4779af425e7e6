"""Requests as they are compared: bodies of any kind, queries, secrets, and how alike they are."""

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


def post(body: object, *exact: str) -> ComparedRequest:
    return compared_request("POST", {}, json.dumps(body), exact=frozenset(exact))


def test_a_digest_is_one_of_what_is_compared() -> None:
    one = post({"messages": [{"id": "a", "content": "hi"}]})
    assert one.digest == post({"messages": [{"content": "hi", "id": "b"}]}).digest
    assert one.digest != post({"messages": [{"id": "a", "content": "ho"}]}).digest
    assert one.digest != compared_request("PUT", {}, json.dumps(one.body)).digest


@pytest.mark.parametrize(
    ("body", "wanted"),
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
def test_a_body_is_json_or_text_or_nothing(body: bytes | str, wanted: object) -> None:
    assert decode_body(body) == wanted


def test_bytes_that_are_no_text_have_a_name_by_their_hash() -> None:
    assert decode_body(b"\xff\xfe") == decode_body(b"\xff\xfe") != decode_body(b"\xff\xfd")
    assert str(decode_body(b"\xff\xfe")).startswith("<2 bytes ")


def test_deeply_nested_body_is_compared_as_text() -> None:
    deep = "[" * 300 + "]" * 300
    assert decode_body(deep) == deep
    assert decode_body("[" * 100_000) == "[" * 100_000
    assert depth_of([[{"a": [1]}]]) == 5


def test_a_query_counts_where_there_is_no_body_and_never_with_a_secret() -> None:
    one = compared_request("GET", {"limit": "1", "key": "secret"}, b"")
    assert one.digest == compared_request("GET", {"limit": "1"}, b"").digest
    assert one.digest != compared_request("GET", {"limit": "2"}, b"").digest
    assert (
        compared_request("POST", {"alt": "sse"}, "{}").digest
        == compared_request("POST", {}, "{}").digest
    )
    off = frozenset({"query"})
    assert (
        compared_request("POST", {"alt": "sse"}, "{}", exact=off).digest
        != compared_request("POST", {}, "{}", exact=off).digest
    )


def test_likeness_goes_from_nothing_in_common_to_the_same() -> None:
    one = post({"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    near = post({"model": "m", "messages": [{"role": "user", "content": "ho"}]})
    far = post({"contents": [{"parts": [{"text": "x"}]}]})
    assert one.likeness(one) == 1.0
    assert 0 < one.likeness(far) + 0.01 < one.likeness(near) < 1
    assert compared_request("GET", {}, b"").likeness(compared_request("GET", {}, b"")) == 1.0
    assert one.likeness(compared_request("PUT", {}, json.dumps(one.body))) == 0.5


def test_a_request_that_came_is_read_once_for_each_set_of_rules() -> None:
    sent = SentRequest("POST", {}, b'{"a": "2026-05-01"}')
    first = to_compared_request(sent)
    assert to_compared_request(sent) is first
    exact = to_compared_request(sent, RULE_NAMES)
    assert exact is not first and exact.body is first.body
    assert exact.digest != first.digest


def test_a_request_that_came_is_compared_without_its_secrets() -> None:
    body = json.dumps({"content": json.dumps({"token": "abcdefghijklmnop"})}).encode()
    assert "abcdefghijkl" not in json.dumps(to_compared_request(SentRequest("POST", {}, body)).body)
    assert to_compared_request(SentRequest("POST", {}, b"\xff")).body == decode_body(b"\xff")


def test_required_rules_of_two_requests_are_listed() -> None:
    one = post({"id": "a", "user": "x", "t": "2026-05-01"})
    other = post({"id": "b", "user": "y", "t": "2026-05-01"})
    assert rules_needed(one, other) == ("ids", "labels")
    assert rules_needed(one, one) == ()
    without = (post({"id": "a", "user": name}, "ids") for name in "xy")
    assert rules_needed(*without) == ("labels",)


def test_digests_do_not_look_at_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1}) != digest_of({"a": 1})
