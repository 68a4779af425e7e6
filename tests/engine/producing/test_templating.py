"""Templates: which braces are placeholders, and their values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.parts import Chunk, TextPart, ToolCallPart
from scenarios_app.engine.producing.placeholders import (
    BRACES,
    OPENING,
    escape_placeholders,
    fill_placeholders,
    has_placeholders,
    placeholder_names,
    placeholder_values,
    unknown_names,
)
from scenarios_app.engine.scenario import Scenario, ScriptedAnswer, ScriptedChoice
from tests.engine.match_builders import chat_request, text_message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ city }}", "Paris"),
        ("{{city}} and {{\tcity\n}}", "Paris and Paris"),
        ("{{ user.name }}", "Ann"),
        ('{"q": "{{ city }}"}', '{"q": "Paris"}'),
        ("{{{ city }}}", "{Paris}"),
        ("{{ größe }}", "groß"),
    ],
)
def test_names_are_filled(text: str, expected: str) -> None:
    values = {"city": "Paris", "user.name": "Ann", "größe": "groß"}
    assert fill_placeholders(text, values) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("{{ 7*7 }}", "{{ city | upper }}", "{{ city.a.b }}", "{{ .city }}", "{{ city. }}"),
        *("{{ }}", "{{}}", "{ city }", "{{ city }", "{{ 'city' }}", "{{ 1city }}", "{{ ci ty }}"),
        *("{{ city() }}", "{% if city %}", "{{ city[0] }}", "{{ user .name }}", "${city}"),
    ],
)
def test_other_text_in_braces_is_unchanged(text: str) -> None:
    assert fill_placeholders(text, {"city": "Paris", "user.name": "Ann", "7": "x"}) == text
    assert placeholder_names(text) == ()


def test_placeholders_in_values_are_not_filled() -> None:
    values = {"a": "{{ b }}", "b": "{{ a }}", "open": "{{", "close": "}}"}
    assert fill_placeholders("{{ a }}{{ b }}", values) == "{{ b }}{{ a }}"
    assert fill_placeholders("{{ open }} a {{ close }}", values) == "{{ a }}"


def test_values_are_not_escaped() -> None:
    value = '\\1 \\g<0> \\n $& " & < \x00'
    assert fill_placeholders("<{{ a }}>", {"a": value}) == f"<{value}>"


def test_placeholder_without_a_value_is_unchanged() -> None:
    assert fill_placeholders("{{ a }} {{ b }}", {"a": "1"}) == "1 {{ b }}"


@pytest.mark.parametrize("unit", ["{{ ", "{{a", "{{ a.", "{{" + " " * 1_000, "{"])
def test_open_braces_take_linear_time(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    assert fill_placeholders(text, {"a": "1"}) == text


def fill_by_hand(text: str, values: dict[str, str]) -> str:
    """Fill placeholders with a simple second implementation."""
    filled, position = "", 0
    while position < len(text):
        end = text.find("}}", position + 2)
        name = (
            text[position + 2 : end].strip() if text.startswith("{{", position) and end >= 0 else ""
        )
        if name in values:
            filled, position = filled + values[name], end + 2
        else:
            filled, position = filled + text[position], position + 1
    return filled


@given(
    st.lists(st.sampled_from(["{", "{{", "}", "}}", " ", "a", "b", ".", "a.b", "\n"])).map("".join),
    st.text("{} .ab", max_size=6),
)
def test_fill_agrees_with_a_second_implementation(text: str, value: str) -> None:
    values = {"a": value, "b": "{{ a }}", "a.b": "{{", "ab": "}}"}
    assert fill_placeholders(text, values) == fill_by_hand(text, values)
    assert fill_placeholders(text, {}) == text


def test_placeholder_names_are_unique_and_in_order() -> None:
    assert placeholder_names("{{ b }} {{a.x}} {{ b }} {{ c }}") == ("b", "a.x", "c")


VARIABLES = {
    "city": "Paris",
    "days": 3,
    "share": 0.5,
    "sure": True,
    "nothing": None,
    "list": [1, "é"],
    "user": {"name": "Ann", "age": 7, "tags": ["x"]},
}


def test_variables_are_strings_or_their_json() -> None:
    values = placeholder_values(Scenario("s", variables=VARIABLES), chat_request(), {})
    assert {name: values[name] for name in values if not name.startswith("request.")} == {
        "city": "Paris",
        "days": "3",
        "share": "0.5",
        "sure": "true",
        "nothing": "null",
        "list": '[1,"é"]',
        "user": '{"name":"Ann","age":7,"tags":["x"]}',
        "user.name": "Ann",
        "user.age": "7",
        "user.tags": '["x"]',
    }


def test_fields_of_the_request_and_groups_are_values() -> None:
    request = chat_request("one", text_message("assistant", "two"), "three")
    values = placeholder_values(Scenario("s"), request, {"city": "Rome"})
    assert values == {
        "request.model": "gpt-4o",
        "request.last_user_text": "three",
        "request.turn": "2",
        "match.city": "Rome",
    }


def test_captured_group_contains_no_secret_of_the_request() -> None:
    secret = "sk-abcdef-1234567890"
    request = chat_request("x", headers={"authorization": f"Bearer {secret}"})
    values = placeholder_values(Scenario("s"), request, {"key": f"it is {secret}"})
    assert secret not in values["match.key"] and values["match.key"].startswith("it is ")


def test_escaped_text_is_filled_to_the_original() -> None:
    text = "{{ city }} and {{user.name}} {"
    assert fill_placeholders(escape_placeholders(text), {BRACES: OPENING}) == text
    assert escape_placeholders("city") == "city"


def test_a_variable_does_not_hide_the_request() -> None:
    shadow = Scenario("s", variables={"request": {"model": "mine", "other": "x"}})
    values = placeholder_values(shadow, chat_request(), {})
    assert (values["request.model"], values["request.other"]) == ("gpt-4o", "x")


def test_unknown_names_are_listed() -> None:
    text = (
        "{{ city }} {{ user.name }} {{ user.nobody }} {{ town }} {{ match.place }} "
        "{{ match.other }} {{ request.model }} {{ request.last_user_text }} {{ request.turn }} "
        "{{ request.path }}"
    )
    assert unknown_names(text, VARIABLES, groups=("place",)) == (
        "user.nobody",
        "town",
        "match.other",
        "request.path",
    )
    assert unknown_names("no names", {}) == ()


@pytest.mark.parametrize(
    ("choice", "templates"),
    [
        (ScriptedChoice((TextPart("plain { text }"),)), False),
        (ScriptedChoice((TextPart("{{ request.model }}"),)), True),
        (ScriptedChoice((ToolCallPart("", "f", '{"a": "{{ b }}"}'),)), True),
        (ScriptedChoice((TextPart("ab"),), chunks=(Chunk(0, "a"), Chunk(0, "{{ b }}"))), True),
    ],
)
def test_placeholder_in_any_text_of_an_answer_is_detected(
    choice: ScriptedChoice, templates: bool
) -> None:
    assert has_placeholders(ScriptedAnswer((ScriptedChoice(), choice))) is templates
