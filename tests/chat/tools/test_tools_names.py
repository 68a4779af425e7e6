"""The names under which the tools of several servers are offered."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chat_app.tools.toolbox import name_tools
from chat_app.values.model_call import Tool


def tools(*names: str) -> tuple[Tool, ...]:
    return tuple(Tool(name, f"about {name}", {"type": "object"}) for name in names)


def names(**listings: tuple[Tool, ...]) -> dict[str, tuple[str, str]]:
    return {name: (o.server, o.name) for name, o in name_tools(listings).items()}


def test_a_name_that_only_one_server_has_stays_as_it_is() -> None:
    assert names(a=tools("add", "echo"), b=tools("search")) == {
        "add": ("a", "add"),
        "echo": ("a", "echo"),
        "search": ("b", "search"),
    }


def test_a_name_that_another_server_has_too_is_called_after_its_server() -> None:
    assert names(a=tools("add", "echo"), b=tools("echo")) == {
        "add": ("a", "add"),
        "a__echo": ("a", "echo"),
        "b__echo": ("b", "echo"),
    }


def test_the_offered_tool_bears_the_offered_name_and_nothing_else_new() -> None:
    offer = name_tools({"a": tools("echo"), "b": tools("echo")})["b__echo"]
    assert offer.tool == Tool("b__echo", "about echo", {"type": "object"})


def test_characters_that_a_provider_refuses_are_replaced() -> None:
    assert names(a=tools("files.read/all ü")) == {"files_read_all__": ("a", "files.read/all ü")}


def test_name_that_begins_with_no_letter_gets_an_underscore() -> None:
    """Gemini refuses the whole request otherwise."""
    assert names(a=tools("3d", "-x", "_y", "")) == {
        "_3d": ("a", "3d"),
        "_-x": ("a", "-x"),
        "_y": ("a", "_y"),
        "_": ("a", ""),
    }


def test_names_that_become_the_same_are_numbered() -> None:
    assert names(a=tools("a.b", "a_b", "a/b")) == {
        "a_b": ("a", "a.b"),
        "a_b_2": ("a", "a_b"),
        "a_b_3": ("a", "a/b"),
    }
    assert names(a=tools("x.y"), b=tools("x_y")) == {
        "a__x_y": ("a", "x.y"),
        "b__x_y": ("b", "x_y"),
    }


def test_a_name_that_reads_like_anothers_is_numbered() -> None:
    assert names(a=tools("x"), b=tools("x"), c=tools("a__x")) == {
        "a__x": ("a", "x"),
        "b__x": ("b", "x"),
        "a__x_2": ("c", "a__x"),
    }


def test_long_names_are_cut_and_stay_different() -> None:
    found = names(a=tools("n" * 100 + "1", "n" * 100 + "2"))
    assert len(found) == 2
    assert all(len(name) == 64 for name in found)


def test_a_server_that_lists_a_name_twice_has_it_once() -> None:
    assert names(a=tools("echo", "echo")) == {"echo": ("a", "echo")}


@given(
    st.dictionaries(
        st.text("ab_.", min_size=1, max_size=40),
        st.lists(st.text("ab_.é", min_size=1, max_size=70), max_size=8),
        max_size=4,
    )
)
def test_every_tool_is_offered_once_under_a_name_that_all_providers_take(
    listings: Any,
) -> None:
    found = name_tools({server: tools(*listed) for server, listed in listings.items()})
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in found)
    assert all(offer.tool.name == name for name, offer in found.items())
    reached = {(offer.server, offer.name) for offer in found.values()}
    assert reached == {(server, name) for server, listed in listings.items() for name in listed}
    assert len(reached) == len(found)
