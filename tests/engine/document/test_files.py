"""Scenario documents from files and directories."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError, DocumentLimits, Problem, dump
from scenarios_app.engine.document.files import NOT_JSON, find_ignored_files, read_files
from scenarios_app.engine.document.load import LoadedDocument, read_documents


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def says(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "steps": [{"produce": {"text": text}}]}


def texts(paths: Any) -> dict[str, list[str | None]]:
    return {d.name: [step.produce.text for step in d.steps] for d in read_files(paths)}


def lines(paths: Any) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read_files(paths)
    return str(caught.value).splitlines()


def test_a_file_holds_one_scenario_or_several(tmp_path: Path) -> None:
    one = write(tmp_path / "one.json", says("a", "1"))
    two = write(tmp_path / "two.json", {"scenarios": [says("b", "2"), says("c", "3")]})
    assert texts(f"{one}{os.pathsep}{two}") == {"a": ["1"], "b": ["2"], "c": ["3"]}
    assert texts([one, str(two)]) == {"a": ["1"], "b": ["2"], "c": ["3"]}


def test_a_directory_is_read_in_path_order_with_what_is_below_it(tmp_path: Path) -> None:
    write(tmp_path / "b.json", says("a", "3"))
    write(tmp_path / "a.json", says("a", "2"))
    write(tmp_path / "a" / "z.json", says("a", "1"))
    assert texts(str(tmp_path)) == {"a": ["1", "2", "3"]}


def test_several_paths_are_read_in_the_order_given(tmp_path: Path) -> None:
    write(tmp_path / "x" / "a.json", says("a", "2"))
    write(tmp_path / "y" / "a.json", says("a", "1"))
    assert texts([tmp_path / "y", tmp_path / "x"]) == {"a": ["1", "2"]}


def test_only_json_files_of_a_directory_are_read_and_no_hidden_ones(tmp_path: Path) -> None:
    write(tmp_path / "a.json", says("a", "1"))
    write(tmp_path / ".git" / "b.json", says("b", "2"))
    write(tmp_path / ".c.json", says("c", "3"))
    (tmp_path / "notes.txt").write_text("not a scenario")
    assert texts(tmp_path.as_posix()) == {"a": ["1"]}


def test_a_file_that_is_named_may_have_any_name(tmp_path: Path) -> None:
    assert texts(str(write(tmp_path / ".scenario", says("a", "1")))) == {"a": ["1"]}


def test_a_file_that_is_reached_twice_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", says("a", "1"))
    (tmp_path / "link.json").symlink_to(file)
    assert texts([file, tmp_path]) == {"a": ["1"]}


def test_a_home_directory_may_be_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "a.json", says("a", "1"))
    assert texts("~/a.json") == {"a": ["1"]}


def test_an_empty_directory_holds_nothing(tmp_path: Path) -> None:
    assert read_files(str(tmp_path)) == []
    assert read_files("") == []
    assert read_files([]) == []


def test_scenarios_of_one_name_in_two_files_become_one(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {"name": "x", "priority": 3, "variables": {"who": "Ann"}})
    write(tmp_path / "b.json", says("x", "Hello {{ who }}"))
    (document,) = read_files(str(tmp_path))
    assert dump(document) == {
        **{"name": "x", "priority": 3, "variables": {"who": "Ann"}},
        "steps": [{"produce": {"text": "Hello {{ who }}"}}],
    }


def test_contradiction_between_two_files_names_both(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", {"name": "x", "priority": 3})
    second = write(tmp_path / "b.json", {"scenarios": [{"name": "x", "priority": 4}]})
    assert lines(str(tmp_path)) == [
        f"{second}:1:30: scenarios[0].priority: 4 differs from 3 in {first}"
    ]


def test_problem_of_a_merged_scenario_names_its_file(tmp_path: Path) -> None:
    write(tmp_path / "a.json", says("x", "1"))
    second = write(tmp_path / "b.json", {"scenarios": [says("y", "1"), says("x", "{{ z }}")]})
    assert lines(str(tmp_path)) == [
        f"{second}:1:107: scenarios[1].steps[0].produce.text: unknown name in {{{{ z }}}}"
    ]


def test_every_wrong_file_is_told_and_none_is_loaded(tmp_path: Path) -> None:
    write(tmp_path / "a.json", says("a", "1"))
    second = write(tmp_path / "b.json", {"name": "b", "steps": [{}], "tag": []})
    third = tmp_path / "c.json"
    third.write_bytes(b'{"name": "c", "name": "d"}')
    missing = tmp_path / "missing"
    assert lines([tmp_path, missing]) == [
        f"{missing}: cannot be read: No such file or directory",
        f"{second}:1:25: steps[0].produce: missing",
        f'{second}:1:30: tag: unknown key, did you mean "tags"?',
        f"{third}:1:15: name: this key is given twice",
    ]


def test_pipe_is_rejected_as_neither_file_nor_directory(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert lines(str(pipe)) == [f"{pipe}: cannot be read: neither a file nor a directory"]


def test_a_directory_that_cannot_be_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scandir(path: str) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert lines(str(tmp_path)) == [f"{tmp_path}: cannot be read: Permission denied"]


def test_a_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "a.json", says("a", "1"))

    def read_bytes(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    assert lines(str(file)) == [f"{file}: cannot be read: Permission denied"]


def test_a_path_that_no_file_can_have_is_missing() -> None:
    assert lines(["a\0b"]) == ["a\0b: cannot be read: No such file or directory"]


def test_limits_hold_for_files_too(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", says("a", "four"))
    with pytest.raises(DocumentError, match="holds 4 bytes of text, expected at most 3"):
        read_files(str(file), limits=DocumentLimits(text_bytes=3))


@pytest.mark.parametrize("name", ["a.har", "a.toml", "a.jsonl"])
def test_a_file_in_another_form_says_which_one_is_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("name: a\n")
    line = f"{tmp_path / name}: {NOT_JSON}"
    assert lines(str(tmp_path / name)) == [line]


def test_a_document_in_a_file_of_another_form_is_one(tmp_path: Path) -> None:
    assert texts(str(write(tmp_path / "a.yaml", says("a", "1")))) == {"a": ["1"]}


def test_files_of_other_formats_in_a_directory_are_listed_as_ignored(tmp_path: Path) -> None:
    others = ["below/d.JSON", "e.jsonl", "f.har"]
    for name in [*others, "a.json", "b.yaml", "notes.txt", ".hidden.yaml", ".git/x.yaml"]:
        write(tmp_path / name, says(name, "1"))
    told = [str(problem) for problem in find_ignored_files(str(tmp_path))]
    said = f"passed over, {NOT_JSON}"
    assert told == [f"{tmp_path / name}: {said}" for name in sorted(others)]
    assert texts(str(tmp_path)) == {"a.json": ["1"], "b.yaml": ["1"]}


def test_nothing_is_told_of_files_that_are_named_or_not_there(tmp_path: Path) -> None:
    named = write(tmp_path / "a.yaml", says("a", "1"))
    assert find_ignored_files([named, tmp_path / "none"]) == []
    assert find_ignored_files("") == []


def test_fixture_file_is_rejected_with_the_right_command(tmp_path: Path) -> None:
    rows = [{"model": "scenarios_app.scenario", "fields": {"name": "a"}}]
    line = "a fixture, no scenario document: load it with loaddata or serve --fixture"
    assert lines(str(write(tmp_path / "a.json", rows))) == [f"{tmp_path / 'a.json'}: {line}"]


class Shouts:
    """Makes a scenario of each line of a file of capitals."""

    suffixes = frozenset({".loud"})

    def __init__(self) -> None:
        self.notes: list[Problem] = []

    def find_converter(self, file: Path, data: bytes) -> Any:
        if file.suffix not in self.suffixes:
            return None
        if data == b"?":
            raise DocumentError.of([Problem("", "nothing to shout", str(file))])
        name = file.stem

        def named(taken: Any) -> LoadedDocument | None:
            free = f"{name}-2" if name in taken else name
            document = {"name": free, "steps": [{"produce": {"text": data.decode()}}]}
            return read_documents(document, source=str(file))[0] if data else None

        return named


def test_other_files_become_documents_once_the_names_are_known(tmp_path: Path) -> None:
    write(tmp_path / "b.json", says("one", "1"))
    for name, text in (("one", "LOUD"), ("two", ""), ("quiet", "X")):
        (tmp_path / f"{name}.{'txt' if name == 'quiet' else 'loud'}").write_text(text)
    documents = read_files([tmp_path], others=Shouts())
    assert {document.name for document in documents} == {"one", "one-2"}
    assert {document.name for document in read_files([tmp_path])} == {"one"}
    (tmp_path / "three.loud").write_text("?")
    with pytest.raises(DocumentError, match=r"three.loud: nothing to shout"):
        read_files([tmp_path], others=Shouts())


def test_a_file_that_others_know_but_cannot_make_anything_of_is_passed_over(tmp_path: Path) -> None:
    class Unsure(Shouts):
        def find_converter(self, file: Path, data: bytes) -> Any:
            return None

    (tmp_path / "x.loud").write_text("X")
    assert read_files([tmp_path], others=Unsure()) == []
    with pytest.raises(DocumentError):
        read_files([tmp_path / "x.loud"], others=Unsure())
    assert not find_ignored_files([tmp_path], others={".loud"})
