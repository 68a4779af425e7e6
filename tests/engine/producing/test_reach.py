"""Scripted headers that change the logins of the admin."""

from typing import Any

import pytest

from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.document.recorded import digest_of_answer
from scenarios_app.engine.producing.reach import (
    cookie_name,
    find_reaching,
    name_header,
    scripted_headers,
)
from tests.engine.documents import one_step_scenario

COOKIES = ("sessionid", "csrftoken")
LOGIN = ("set-cookie", "sessionid=x; Path=/")
OTHER = ("set-cookie", "theme=dark")
CLEAR = ("clear-site-data", '"cookies"')
RECORDED = {"of": digest_of_answer({"text": "a"}), "chunks": ["b"], "headers": {"x-a": "1"}}
RAW = {"status": 200, "headers": {"set-cookie": LOGIN[1]}, "body": ""}


@pytest.mark.parametrize(
    ("text", "name"),
    [("sessionid=x", "sessionid"), (" a = b ; Path=/", "a"), ("=sessionid=x", "sessionid")],
)
def test_cookie_has_the_name_that_servers_read(text: str, name: str) -> None:
    assert cookie_name(text) == name


def test_cookies_of_the_admin_and_deletions_are_found_and_named() -> None:
    reaching = find_reaching((OTHER, LOGIN, CLEAR, ("x-a", "sessionid=x")), COOKIES)
    assert reaching == [LOGIN, CLEAR]
    assert list(map(name_header, reaching)) == ["set-cookie sessionid", "clear-site-data"]


@pytest.mark.parametrize(
    ("step", "places"),
    [
        ({"produce": {"text": "a"}, "side_effects": {"headers": {"x-a": "1"}}}, []),
        ({"produce": {"raw": RAW}}, ["produce.raw.headers"]),
        (
            {"produce": {"streaming": {"raw": RAW}, "non_streaming": {"text": "a"}}},
            ["produce.raw.headers"],
        ),
        (
            {"produce": {"fault": {"kind": "http", "status": 500, "headers": {"x-a": "1"}}}},
            ["produce.fault.headers"],
        ),
        (
            {
                "produce": {"text": "a"},
                "failures": {"times": 1, "fault": {"kind": "http", "status": 500}},
            },
            ["failures.fault.headers"],
        ),
        (
            {"produce": {"text": "a", "recorded": RECORDED}},
            ["produce.recorded.headers"],
        ),
    ],
)
def test_every_place_of_scripted_headers_is_listed(step: dict[str, Any], places: list[str]) -> None:
    (scenario,) = load_documents(one_step_scenario(**step))
    compiled = compile_scenario(scenario).steps[0]
    assert [place for place, _ in scripted_headers(compiled)] == ["side_effects.headers", *places]
