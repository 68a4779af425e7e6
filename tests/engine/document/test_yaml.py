"""Scenario documents in YAML, and lines and columns of problems in YAML and JSON."""

from pathlib import Path
from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError, load_text, yaml_text
from scenarios_app.engine.document.files import NOT_JSON, ScenarioFiles, read_files
from scenarios_app.engine.document.source_text import located
from scenarios_app.engine.document.yaml_text import find_positions, read_yaml

GREETING = """\
# yaml-language-server: $schema=scenario.schema.json
$schema: ./scenario.schema.json
name: greeting
steps:
- match:
    messages: [hello]
  produce:
    text: |
      Hi!
      I am here.
"""
INVALID_JSON = """\
{"name": "a",
\t"steps": [
\t\t{"match": {"model": 5},
\t\t "produce": {"text": "{{ who }}", "\\ud83d\\ude00": "a, b]} c"}}
\t]}
"""


def load_error(text: str, source: str) -> str:
    with pytest.raises(DocumentError) as error:
        load_text(text.encode(), source=source)
    return str(error.value)


def test_yaml_document_loads_like_json() -> None:
    (document,) = load_text(GREETING.encode(), source="a.yaml")
    assert document.dump_shortest() == {
        "name": "greeting",
        "steps": [{"match": {"messages": ["hello"]}, "produce": {"text": "Hi!\nI am here.\n"}}],
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name: a\nname: b\n", "a.yml:2:1: not valid YAML: the key 'name' is given twice"),
        ("a: [", "a.yml:2:1: not valid YAML: did not find expected node content"),
        ("a: \0", "a.yml: not valid YAML: unacceptable character"),
        ("? [a]\n: b", "a.yml:1:3: not valid YAML: found unhashable key"),
        ("a: !!binary aGk=", "a.yml:1:1: a: expected a JSON value, got bytes"),
        ("a: !!bool abc", "a.yml:1:4: not valid YAML: 'abc' is no bool"),
        ("a:\n- !!int x", "a.yml:2:3: not valid YAML: 'x' is no int"),
        ("a: !!int ''", "a.yml:1:4: not valid YAML: '' is no int"),
        ("a: !!float ''", "a.yml:1:4: not valid YAML: '' is no float"),
        ("a: !!timestamp x", "a.yml:1:4: not valid YAML: 'x' is no timestamp"),
        ("a: !!timestamp 2001-13-45", "a.yml:1:4: not valid YAML: '2001-13-45' is no timestamp"),
        ("? !!timestamp x\n: b", "a.yml:1:3: not valid YAML: 'x' is no timestamp"),
        ("a: .inf", "a.yml: holds a number that is not finite"),
        ("a: !!timestamp 2026-05-01", "a.yml:1:1: a: expected a JSON value, got date"),
        ("a: !!set {b}", "a.yml: holds a value of type set"),
        ("- " * 300, "a.yml: nested deeper than 100 levels"),
        ("a: &a [*a]", "a.yml: unfolds to more than"),
        ("1: a", "a.yml: expected keys that are text, got 1"),
        ("name: a\nsteps:\n  - produce: {txt: hi}\n", "a.yml:3:15: steps[0].produce.txt: unknown"),
        ("name: a\nsteps:\n  - match: {}\n", "a.yml:3:5: steps[0].produce: missing"),
    ],
)
def test_invalid_yaml_is_rejected_with_line_and_column(text: str, line: str) -> None:
    assert load_error(text, "a.yml").startswith(line)


def test_yaml_that_is_not_utf8_is_rejected() -> None:
    with pytest.raises(DocumentError, match="expected UTF-8 text, byte 4 is not"):
        read_yaml(b"a: \xff")


def test_yaml_of_python_2_is_text() -> None:
    assert read_yaml(b"a: !!python/unicode 'x'") == {"a": "x"}


def test_yaml_with_too_many_values_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "MAX_NODES", 3)
    with pytest.raises(DocumentError, match="holds more than 3 values"):
        read_yaml(b"[1, 2, 3]")
    with pytest.raises(DocumentError, match="unfolds to more than 3 values"):
        read_yaml(b"&a [*a]")


def test_json_problems_have_line_and_column() -> None:
    lines = load_error(INVALID_JSON, "a.json").splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["a.json:3:14", "a.json:4:4"]
    assert load_error('{"name": "a",\n "stepz": []}', "") == (
        'line 2 column 2: stepz: unknown key, did you mean "steps"?'
    )


def test_positions_of_json_are_those_of_keys_and_items() -> None:
    assert find_positions(b'{"a": [1,\n {"b c": {}}], "a": 2}') == {
        "": (1, 1),
        "a": (2, 16),
        "a[0]": (1, 8),
        "a[1]": (2, 2),
        'a[1]["b c"]': (2, 3),
    }


def test_content_of_an_anchor_is_located_where_it_is_defined() -> None:
    places = find_positions(b"a: &x {b: [1]}\nc: *x\n")
    assert places == {"": (1, 1), "a": (1, 1), "a.b": (1, 8), "a.b[0]": (1, 12), "c": (2, 1)}


@pytest.mark.parametrize("data", [b'{"a": 1}\n{"b": 2}\n', b"[" * 300])
def test_text_in_another_format_has_no_positions(data: bytes) -> None:
    assert find_positions(data) == {}


def test_problem_of_another_source_keeps_its_position() -> None:
    with pytest.raises(DocumentError) as error, located(b"{}", source="a.json"):
        raise DocumentError("name", "missing")
    assert str(error.value) == "name: missing"


def test_yaml_files_in_a_folder_are_documents_if_they_have_their_keys(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GREETING)
    (tmp_path / "b.yml").write_text("- {name: b, steps: []}\n- {id: c, turns: []}\n")
    (tmp_path / "c.YAML").write_text("scenarios: [{name: d}]\n")
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    (tmp_path / "list.yaml").write_text("[]\n")
    files = ScenarioFiles([tmp_path])
    documents, problems = files.read()
    assert list(documents) == ["greeting", "b", "c", "d"]
    assert problems == []
    assert [str(note) for note in files.notes] == [
        f"{tmp_path / name}: passed over, {NOT_JSON}" for name in ("compose.yaml", "list.yaml")
    ]


def test_yaml_file_passed_by_path_must_be_a_document(tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text("services: {}\n")
    with pytest.raises(DocumentError) as error:
        read_files([file])
    lines = str(error.value).splitlines()
    assert lines[0].startswith(f"{file}:1:1: name: missing")


@pytest.mark.parametrize(
    "document",
    [
        {"$schema": "a", "name": "x"},
        {"$schema": "a", "scenarios": [{"$schema": "a", "name": "x"}]},
        {"$schema": "a", "id": "x", "turns": []},
    ],
)
def test_schema_key_is_no_part_of_the_scenario(document: dict[str, Any], tmp_path: Path) -> None:
    (loaded_document,) = load_text(str(document).replace("'", '"').encode())
    assert "$schema" not in loaded_document.dump_shortest()
