"""Names of documents: hidden characters are named, and names made of other texts have none."""

import pytest

from scenarios_app.engine.document import load_documents
from scenarios_app.engine.shapes.fields import clean_name
from tests.engine.documents import load_error_lines

ZWNJ, ZWJ, ZERO_WIDTH_SPACE = "\u200c", "\u200d", "\u200b"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (f"a{ZERO_WIDTH_SPACE}b", "U+200B ZERO WIDTH SPACE at position 2"),
        (f"{ZWJ}a", "U+200D ZERO WIDTH JOINER at position 1"),
        ("a\tb", "U+0009 CONTROL CHARACTER at position 2"),
    ],
)
def test_hidden_character_is_named_with_its_position(name: str, problem: str) -> None:
    (line,) = load_error_lines({"name": name, "steps": []})
    assert line == f"name: {problem} is not allowed in a name"


@pytest.mark.parametrize("name", [f"می{ZWNJ}خواهم", f"👩{ZWJ}👧"])
def test_joiner_inside_a_name_is_allowed(name: str) -> None:
    (scenario,) = load_documents({"name": name, "steps": []})
    assert scenario.name == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f" a{ZERO_WIDTH_SPACE}b\tc\n", "ab c"),
        (f"می{ZWNJ}خواهم", f"می{ZWNJ}خواهم"),
        (ZERO_WIDTH_SPACE, ""),
        ("a" * 300, "a" * 200),
    ],
)
def test_name_of_a_text_has_no_hidden_characters(text: str, name: str) -> None:
    assert clean_name(text) == name
