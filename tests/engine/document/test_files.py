"""Scenario documents from files and directories."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError, DocumentLimits, Problem, dump
from scenarios_app.engine.document.files import (
    NOT_JSON,
    ScenarioFiles,
    find_ignored_files,
    read_files,
)
from scenarios_app.engine.document.load import LoadedDocument, read_documents


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def text_scenario(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "steps": [{"produce": {"text": text}}]}


def texts_by_name(paths: Any) -> dict[str, list[str | None]]:
    return {d.name: [step.produce.text for step in d.steps] for d in read_files(paths)}


def error_lines(paths: Any) -> list[str]:
    with pytest.raises(DocumentError) as error:
        read_files(paths)
    return str(error.value).splitlines()


def test_a_file_holds_one_scenario_or_several(tmp_path: Path) -> None:
    single_file = write(tmp_path / "one.json", text_scenario("a", "1"))
    double_file = write(
        tmp_path / "two.json", {"scenarios": [text_scenario("b", "2"), text_scenario("c", "3")]}
    )
    assert texts_by_name(f"{single_file}{os.pathsep}{double_file}") == {
        "a": ["1"],
        "b": ["2"],
        "c": ["3"],
    }
    assert texts_by_name([single_file, str(double_file)]) == {"a": ["1"], "b": ["2"], "c": ["3"]}


def test_directory_is_read_recursively_in_path_order(tmp_path: Path) -> None:
    write(tmp_path / "b.json", text_scenario("a", "3"))
    write(tmp_path / "a.json", text_scenario("a", "2"))
    write(tmp_path / "a" / "z.json", text_scenario("a", "1"))
    assert texts_by_name(str(tmp_path)) == {"a": ["1", "2", "3"]}


def test_several_paths_are_read_in_the_order_given(tmp_path: Path) -> None:
    write(tmp_path / "x" / "a.json", text_scenario("a", "2"))
    write(tmp_path / "y" / "a.json", text_scenario("a", "1"))
    assert texts_by_name([tmp_path / "y", tmp_path / "x"]) == {"a": ["1", "2"]}


def test_only_json_files_of_a_directory_are_read_and_no_hidden_ones(tmp_path: Path) -> None:
    write(tmp_path / "a.json", text_scenario("a", "1"))
    write(tmp_path / ".git" / "b.json", text_scenario("b", "2"))
    write(tmp_path / ".c.json", text_scenario("c", "3"))
    (tmp_path / "notes.txt").write_text("not a scenario")
    assert texts_by_name(tmp_path.as_posix()) == {"a": ["1"]}


def test_file_passed_by_path_may_have_any_name(tmp_path: Path) -> None:
    assert texts_by_name(str(write(tmp_path / ".scenario", text_scenario("a", "1")))) == {
        "a": ["1"]
    }


def test_file_reached_by_two_paths_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", text_scenario("a", "1"))
    (tmp_path / "link.json").symlink_to(file)
    assert texts_by_name([file, tmp_path]) == {"a": ["1"]}


def test_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "a.json", text_scenario("a", "1"))
    assert texts_by_name("~/a.json") == {"a": ["1"]}


def test_an_empty_directory_holds_nothing(tmp_path: Path) -> None:
    assert read_files(str(tmp_path)) == []
    assert read_files("") == []
    assert read_files([]) == []


def test_scenarios_of_one_name_in_two_files_become_one(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {"name": "x", "priority": 3, "variables": {"who": "Ann"}})
    write(tmp_path / "b.json", text_scenario("x", "Hello {{ who }}"))
    (document,) = read_files(str(tmp_path))
    assert dump(document) == {
        **{"name": "x", "priority": 3, "variables": {"who": "Ann"}},
        "steps": [{"produce": {"text": "Hello {{ who }}"}}],
    }


def test_contradiction_between_two_files_names_both(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", {"name": "x", "priority": 3})
    second = write(tmp_path / "b.json", {"scenarios": [{"name": "x", "priority": 4}]})
    assert error_lines(str(tmp_path)) == [
        f"{second}:1:30: scenarios[0].priority: 4 differs from 3 in {first}"
    ]


def test_problem_of_a_merged_scenario_names_its_file(tmp_path: Path) -> None:
    write(tmp_path / "a.json", text_scenario("x", "1"))
    second = write(
        tmp_path / "b.json", {"scenarios": [text_scenario("y", "1"), text_scenario("x", "{{ z }}")]}
    )
    assert error_lines(str(tmp_path)) == [
        f"{second}:1:107: scenarios[1].steps[0].produce.text: unknown name in {{{{ z }}}}"
    ]


def test_every_invalid_file_is_reported_and_none_is_loaded(tmp_path: Path) -> None:
    write(tmp_path / "a.json", text_scenario("a", "1"))
    second = write(tmp_path / "b.json", {"name": "b", "steps": [{}], "tag": []})
    third = tmp_path / "c.json"
    third.write_bytes(b'{"name": "c", "name": "d"}')
    missing = tmp_path / "missing"
    assert error_lines([tmp_path, missing]) == [
        f"{missing}: cannot be read: No such file or directory",
        f"{second}:1:25: steps[0].produce: missing",
        f'{second}:1:30: tag: unknown key, did you mean "tags"?',
        f"{third}:1:15: name: this key is given twice",
    ]


def test_pipe_is_rejected_as_neither_file_nor_directory(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert error_lines(str(pipe)) == [f"{pipe}: cannot be read: neither a file nor a directory"]


def test_a_directory_that_cannot_be_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scandir(path: str) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert error_lines(str(tmp_path)) == [f"{tmp_path}: cannot be read: Permission denied"]


def test_a_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "a.json", text_scenario("a", "1"))

    def read_bytes(path: Path, **_: int) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("scenarios_app.engine.document.files.read_regular_file", read_bytes)
    assert error_lines(str(file)) == [f"{file}: cannot be read: Permission denied"]


def test_a_path_that_no_file_can_have_is_missing() -> None:
    assert error_lines(["a\0b"]) == ["a\0b: cannot be read: No such file or directory"]


def test_limits_apply_to_files(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", text_scenario("a", "four"))
    with pytest.raises(DocumentError, match="holds 4 bytes of text, expected at most 3"):
        read_files(str(file), limits=DocumentLimits(text_bytes=3))


@pytest.mark.parametrize("name", ["a.har", "a.toml", "a.jsonl"])
def test_file_in_another_format_is_rejected_with_the_supported_formats(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("name: a\n")
    line = f"{tmp_path / name}: {NOT_JSON}"
    assert error_lines(str(tmp_path / name)) == [line]


def test_json_document_in_a_yaml_file_is_read(tmp_path: Path) -> None:
    assert texts_by_name(str(write(tmp_path / "a.yaml", text_scenario("a", "1")))) == {"a": ["1"]}


def test_files_of_other_formats_in_a_directory_are_listed_as_ignored(tmp_path: Path) -> None:
    other_files = ["below/d.JSON", "e.jsonl", "f.har"]
    for name in [*other_files, "a.json", "b.yaml", "notes.txt", ".hidden.yaml", ".git/x.yaml"]:
        write(tmp_path / name, text_scenario(name, "1"))
    messages = [str(problem) for problem in find_ignored_files(str(tmp_path))]
    reason = f"passed over, {NOT_JSON}"
    assert messages == [f"{tmp_path / name}: {reason}" for name in sorted(other_files)]
    assert texts_by_name(str(tmp_path)) == {"a.json": ["1"], "b.yaml": ["1"]}


def test_files_passed_by_path_or_missing_are_not_listed_as_ignored(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", text_scenario("a", "1"))
    assert find_ignored_files([file, tmp_path / "none"]) == []
    assert find_ignored_files("") == []


def test_fixture_file_is_rejected_with_the_right_command(tmp_path: Path) -> None:
    rows = [{"model": "scenarios_app.scenario", "fields": {"name": "a"}}]
    line = "a fixture, no scenario document: load it with loaddata or serve --fixture"
    assert error_lines(str(write(tmp_path / "a.json", rows))) == [f"{tmp_path / 'a.json'}: {line}"]


class CapitalsConverter:
    """Converts each `.loud` file to a scenario that answers with the text of the file."""

    suffixes = frozenset({".loud"})

    def __init__(self) -> None:
        self.notes: list[Problem] = []

    def find_converter(self, file: Path, data: bytes) -> Any:
        if file.suffix not in self.suffixes:
            return None
        if data == b"?":
            raise DocumentError.of([Problem("", "nothing to shout", str(file))])
        name = file.stem

        def convert(used_names: Any) -> LoadedDocument | None:
            free = f"{name}-2" if name in used_names else name
            document = {"name": free, "steps": [{"produce": {"text": data.decode()}}]}
            return read_documents(document, source=str(file))[0] if data else None

        return convert


def test_converted_files_get_names_that_are_not_used_yet(tmp_path: Path) -> None:
    write(tmp_path / "b.json", text_scenario("one", "1"))
    for name, text in (("one", "LOUD"), ("two", ""), ("quiet", "X")):
        (tmp_path / f"{name}.{'txt' if name == 'quiet' else 'loud'}").write_text(text)
    documents = read_files([tmp_path], others=CapitalsConverter())
    assert {document.name for document in documents} == {"one", "one-2"}
    assert {document.name for document in read_files([tmp_path])} == {"one"}
    (tmp_path / "three.loud").write_text("?")
    with pytest.raises(DocumentError, match=r"three.loud: nothing to shout"):
        read_files([tmp_path], others=CapitalsConverter())


def test_file_without_a_converter_is_ignored_in_a_directory(tmp_path: Path) -> None:
    class Unsure(CapitalsConverter):
        def find_converter(self, file: Path, data: bytes) -> Any:
            return None

    (tmp_path / "x.loud").write_text("X")
    assert read_files([tmp_path], others=Unsure()) == []
    with pytest.raises(DocumentError):
        read_files([tmp_path / "x.loud"], others=Unsure())
    assert not find_ignored_files([tmp_path], others={".loud"})


def odd_file(folder: Path, kind: str) -> Path:
    """Return the path of a file of this kind that looks like a scenario."""
    path = folder / f"{kind}.json"
    folder.mkdir(parents=True, exist_ok=True)
    match kind:
        case "device":
            path.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(path)
        case "sparse":
            with path.open("wb") as file:
                file.truncate(3_000_000_000)
        case "endless":
            # It has no size, and ends.
            path.symlink_to("/proc/self/maps")
    return path


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("device", "no regular file"),
        ("pipe", "no regular file"),
        ("sparse", "larger than 67,108,864 bytes (for servers, MOCKLLM_MAX_UPLOAD_BYTES)"),
    ],
)
def test_file_that_cannot_be_read_to_its_end_is_a_problem_at_once(
    tmp_path: Path, kind: str, reason: str
) -> None:
    file = odd_file(tmp_path, kind)
    assert error_lines([tmp_path]) == [f"{file}: cannot be read: {reason}"]


def test_other_files_are_read_again_beside_one_that_cannot_be(tmp_path: Path) -> None:
    write(tmp_path / "a.json", text_scenario("a", "1"))
    files = ScenarioFiles([tmp_path])
    files.read()
    for kind in ("device", "pipe", "sparse"):
        odd_file(tmp_path, kind)
    write(tmp_path / "a.json", text_scenario("a", "2"))
    documents, problems = files.read()
    assert documents["a"].steps[0].produce.text == "2" and len(problems) == 3


def test_file_is_limited_by_what_it_holds_and_not_by_its_size_alone(tmp_path: Path) -> None:
    file = odd_file(tmp_path, "endless")
    limits = DocumentLimits(file_bytes=10)
    with pytest.raises(DocumentError, match="larger than 10 bytes"):
        read_files([file], limits=limits)
