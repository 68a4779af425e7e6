"""The names under which the tools of several servers are offered."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chat_app.tools.toolbox import name_tools
from chat_app.values.model_call import Tool


def make_tools(*names: str) -> tuple[Tool, ...]:
    return tuple(Tool(name, f"about {name}", {"type": "object"}) for name in names)


def names(**listings: tuple[Tool, ...]) -> dict[str, tuple[str, str]]:
    return {name: (o.server, o.name) for name, o in name_tools(listings).items()}


def test_unique_name_is_kept() -> None:
    assert names(a=make_tools("add", "echo"), b=make_tools("search")) == {
        "add": ("a", "add"),
        "echo": ("a", "echo"),
        "search": ("b", "search"),
    }


def test_shared_name_gets_its_server_as_prefix() -> None:
    assert names(a=make_tools("add", "echo"), b=make_tools("echo")) == {
        "add": ("a", "add"),
        "a__echo": ("a", "echo"),
        "b__echo": ("b", "echo"),
    }


def test_offered_tool_differs_only_in_its_name() -> None:
    offer = name_tools({"a": make_tools("echo"), "b": make_tools("echo")})["b__echo"]
    assert offer.tool == Tool("b__echo", "about echo", {"type": "object"})


def test_characters_that_a_provider_refuses_are_replaced() -> None:
    assert names(a=make_tools("files.read/all ü")) == {
        "files_read_all__": ("a", "files.read/all ü")
    }


def test_name_that_begins_with_no_letter_gets_an_underscore() -> None:
    """Gemini refuses requests with other names."""
    assert names(a=make_tools("3d", "-x", "_y", "")) == {
        "_3d": ("a", "3d"),
        "_-x": ("a", "-x"),
        "_y": ("a", "_y"),
        "_": ("a", ""),
    }


def test_names_that_become_the_same_are_numbered() -> None:
    assert names(a=make_tools("a.b", "a_b", "a/b")) == {
        "a_b": ("a", "a.b"),
        "a_b_2": ("a", "a_b"),
        "a_b_3": ("a", "a/b"),
    }
    assert names(a=make_tools("x.y"), b=make_tools("x_y")) == {
        "a__x_y": ("a", "x.y"),
        "b__x_y": ("b", "x_y"),
    }


def test_name_equal_to_a_prefixed_name_is_numbered() -> None:
    assert names(a=make_tools("x"), b=make_tools("x"), c=make_tools("a__x")) == {
        "a__x": ("a", "x"),
        "b__x": ("b", "x"),
        "a__x_2": ("c", "a__x"),
    }


def test_long_names_are_cut_and_stay_different() -> None:
    unique_names = names(a=make_tools("n" * 100 + "1", "n" * 100 + "2"))
    assert len(unique_names) == 2
    assert all(len(name) == 64 for name in unique_names)


def test_name_listed_twice_is_offered_once() -> None:
    assert names(a=make_tools("echo", "echo")) == {"echo": ("a", "echo")}


@given(
    st.dictionaries(
        st.text("ab_.", min_size=1, max_size=40),
        st.lists(st.text("ab_.é", min_size=1, max_size=70), max_size=8),
        max_size=4,
    )
)
def test_every_tool_is_offered_once_under_a_valid_name(
    listings: Any,
) -> None:
    offers = name_tools(
        {server: make_tools(*tool_names) for server, tool_names in listings.items()}
    )
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in offers)
    assert all(offer.tool.name == name for name, offer in offers.items())
    offered_tools = {(offer.server, offer.name) for offer in offers.values()}
    assert offered_tools == {
        (server, name) for server, tool_names in listings.items() for name in tool_names
    }
    assert len(offered_tools) == len(offers)
