"""Messages on the bus that this version cannot read."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scenarios_app.cluster.bus import Bus
from scenarios_app.cluster.connections import Connections


@pytest.mark.parametrize("text", ["ask", "ask reply:1 double", "ask reply:1 double {"])
def test_unreadable_query_gets_no_result_and_the_bus_goes_on(text: str) -> None:
    replies: list[tuple[str, str]] = []
    catalog_messages: list[Any] = []
    fake_redis = SimpleNamespace(
        rpush=lambda key, reply: replies.append((key, reply)), expire=lambda key, seconds: None
    )
    bus = Bus(
        cast(Connections, SimpleNamespace(here=fake_redis)),
        messages={"catalog": catalog_messages.append},
        queries={"double": lambda number: 2 * number},
    )
    bus._handle_message(text)
    bus._handle_message("catalog 7")
    bus._handle_message("ask reply:2 double 4")
    assert [json.loads(reply) for _, reply in replies] == [[], [8]]
    assert catalog_messages == ["7"]
