"""Requests as they are compared: bodies of any kind, queries, secrets, and how alike they are."""

import json

import pytest

from scenarios_app.engine.canonical import SentRequest
from scenarios_app.engine.recorded.requests import (
    ComparedRequest,
    asked,
    compared,
    decoded,
    depth_of,
    digest_of,
    rules_between,
)
from scenarios_app.engine.recorded.rules import NAMES


def post(body: object, *exact: str) -> ComparedRequest:
    return compared("POST", {}, json.dumps(body), exact=frozenset(exact))


def test_a_digest_is_one_of_what_is_compared() -> None:
    one = post({"messages": [{"id": "a", "content": "hi"}]})
    assert one.digest == post({"messages": [{"content": "hi", "id": "b"}]}).digest
    assert one.digest != post({"messages": [{"id": "a", "content": "ho"}]}).digest
    assert one.digest != compared("PUT", {}, json.dumps(one.body)).digest


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
    assert decoded(body) == wanted


def test_bytes_that_are_no_text_have_a_name_by_their_hash() -> None:
    assert decoded(b"\xff\xfe") == decoded(b"\xff\xfe") != decoded(b"\xff\xfd")
    assert str(decoded(b"\xff\xfe")).startswith("<2 bytes ")


def test_what_is_nested_too_deep_is_compared_as_text() -> None:
    deep = "[" * 300 + "]" * 300
    assert decoded(deep) == deep
    assert decoded("[" * 100_000) == "[" * 100_000
    assert depth_of([[{"a": [1]}]]) == 5


def test_a_query_counts_where_there_is_no_body_and_never_with_a_secret() -> None:
    one = compared("GET", {"limit": "1", "key": "secret"}, b"")
    assert one.digest == compared("GET", {"limit": "1"}, b"").digest
    assert one.digest != compared("GET", {"limit": "2"}, b"").digest
    assert compared("POST", {"alt": "sse"}, "{}").digest == compared("POST", {}, "{}").digest
    off = frozenset({"query"})
    assert (
        compared("POST", {"alt": "sse"}, "{}", exact=off).digest
        != compared("POST", {}, "{}", exact=off).digest
    )


def test_likeness_goes_from_nothing_in_common_to_the_same() -> None:
    one = post({"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    near = post({"model": "m", "messages": [{"role": "user", "content": "ho"}]})
    far = post({"contents": [{"parts": [{"text": "x"}]}]})
    assert one.likeness(one) == 1.0
    assert 0 < one.likeness(far) + 0.01 < one.likeness(near) < 1
    assert compared("GET", {}, b"").likeness(compared("GET", {}, b"")) == 1.0
    assert one.likeness(compared("PUT", {}, json.dumps(one.body))) == 0.5


def test_a_request_that_came_is_read_once_for_each_set_of_rules() -> None:
    sent = SentRequest("POST", {}, b'{"a": "2026-05-01"}')
    first = asked(sent)
    assert asked(sent) is first
    exact = asked(sent, NAMES)
    assert exact is not first and exact.body is first.body
    assert exact.digest != first.digest


def test_a_request_that_came_is_compared_without_its_secrets() -> None:
    body = json.dumps({"content": json.dumps({"token": "abcdefghijklmnop"})}).encode()
    assert "abcdefghijkl" not in json.dumps(asked(SentRequest("POST", {}, body)).body)
    assert asked(SentRequest("POST", {}, b"\xff")).body == decoded(b"\xff")


def test_the_rules_that_two_requests_need_are_told() -> None:
    one = post({"id": "a", "user": "x", "t": "2026-05-01"})
    other = post({"id": "b", "user": "y", "t": "2026-05-01"})
    assert rules_between(one, other) == ("ids", "labels")
    assert rules_between(one, one) == ()
    without = (post({"id": "a", "user": name}, "ids") for name in "xy")
    assert rules_between(*without) == ("labels",)


def test_digests_do_not_look_at_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1}) != digest_of({"a": 1})
