"""Scenario files are read again after changes."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.engine.document import Problem, ScenarioDocument
from scenarios_app.engine.document.files import ScenarioFiles


def write(path: Path, name: str, text: str, **more: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"name": name, "steps": [{"produce": {"text": text}}], **more}))
    return path


def texts_by_name(documents: Mapping[str, ScenarioDocument]) -> dict[str, list[str | None]]:
    return {name: [step.produce.text for step in d.steps] for name, d in documents.items()}


def read_texts(files: ScenarioFiles) -> tuple[dict[str, list[str | None]], list[str]]:
    documents, problems = files.read()
    return texts_by_name(documents), [str(problem) for problem in problems]


def test_changed_added_and_removed_files_are_read_again(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", "a", "1")
    files = ScenarioFiles([tmp_path])
    assert read_texts(files) == ({"a": ["1"]}, [])
    write(first, "a", "2")
    write(tmp_path / "sub" / "b.json", "b", "1")
    assert read_texts(files) == ({"a": ["2"], "b": ["1"]}, [])
    first.unlink()
    assert read_texts(files) == ({"b": ["1"]}, [])


def test_unchanged_file_is_not_parsed_again(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "a", "1")
    files = ScenarioFiles([tmp_path])
    (before, _), (after, _) = files.read(), files.read()
    assert before["a"] is after["a"]


def test_broken_file_keeps_its_last_valid_version(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", "a", "1")
    files = ScenarioFiles([tmp_path])
    files.read()
    first.write_text("{")
    write(tmp_path / "b.json", "b", "1")
    expected = f"{first}:1:2: not valid JSON: Expecting property name enclosed in double quotes"
    assert read_texts(files) == ({"a": ["1"], "b": ["1"]}, [expected])
    assert read_texts(files) == ({"a": ["1"], "b": ["1"]}, [expected])
    write(first, "a", "2")
    assert read_texts(files) == ({"a": ["2"], "b": ["1"]}, [])


def test_new_broken_file_holds_nothing(tmp_path: Path) -> None:
    files = ScenarioFiles([tmp_path])
    files.read()
    broken_file = write(tmp_path / "a.json", "a", "{{ who }}")
    problem = f"{broken_file}:1:38: steps[0].produce.text: unknown name in {{{{ who }}}}"
    assert read_texts(files) == ({}, [problem])


def test_contradiction_keeps_the_last_valid_version_of_the_scenario(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "x", "1", priority=1)
    second = write(tmp_path / "b.json", "x", "2")
    write(tmp_path / "c.json", "y", "1")
    files = ScenarioFiles([tmp_path])
    files.read()
    write(second, "x", "2", priority=2)
    write(tmp_path / "c.json", "y", "2")
    documents, problems = read_texts(files)
    assert documents == {"x": ["1", "2"], "y": ["2"]}
    assert len(problems) == 1 and "priority: 2 differs from 1 in" in problems[0]


def test_incomplete_scenario_is_not_reported_beside_a_file_that_was_never_valid(
    tmp_path: Path,
) -> None:
    write(tmp_path / "a.json", "x", "{{ who }}")
    (tmp_path / "b.json").write_text("{")
    documents, problems = read_texts(ScenarioFiles([tmp_path]))
    assert documents == {} and ["b.json:1:2" in problem for problem in problems] == [True]


def test_path_that_disappears_holds_nothing_and_may_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "scenarios"
    file = write(folder / "a.json", "a", "1")
    files = ScenarioFiles([folder])
    files.read()
    file.unlink()
    folder.rmdir()
    assert read_texts(files) == ({}, [])
    write(file, "a", "2")
    assert read_texts(files) == ({"a": ["2"]}, [])


def test_folder_that_cannot_be_listed_keeps_its_scenarios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.json", "a", "1")
    files = ScenarioFiles([tmp_path])
    files.read()

    def scandir(path: str) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.scandir", scandir)
    assert read_texts(files) == ({"a": ["1"]}, [f"{tmp_path}: cannot be read: Permission denied"])


def test_file_that_cannot_be_read_keeps_its_last_valid_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "a.json", "a", "1")
    files = ScenarioFiles([tmp_path])
    files.read()

    def read_bytes(path: Path, **_: int) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("scenarios_app.engine.document.files.read_regular_file", read_bytes)
        assert read_texts(files) == ({"a": ["1"]}, [f"{file}: cannot be read: Permission denied"])
    assert read_texts(files) == ({"a": ["1"]}, [])


def test_folders_are_those_of_files_links_and_paths(tmp_path: Path) -> None:
    target = write(tmp_path / "elsewhere" / "a.json", "a", "1")
    folder = tmp_path / "scenarios"
    write(folder / "sub" / "b.json", "b", "1")
    (folder / ".git").mkdir()
    (folder / "link.json").symlink_to(target)
    files = ScenarioFiles([folder, tmp_path / "gone" / "c.json"])
    files.read()
    expected = (tmp_path, tmp_path / "elsewhere", folder, folder / "sub")
    assert files.folders() == {str(path) for path in expected}


def test_only_documents_named_paths_and_folders_concern_the_files(tmp_path: Path) -> None:
    file = write(tmp_path / "script", "a", "1")
    files = ScenarioFiles([file])
    files.read()
    paths = ("script", "b.yaml", "b.JSON", "mockllm.sqlite3", "notes.txt", "")
    results = [files.concerns(str(tmp_path / path)) for path in paths]
    assert results == [True, True, True, False, False, True]


def test_deleted_folder_of_a_file_concerns_the_files(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "er" / "a.json", "a", "1")
    files = ScenarioFiles([tmp_path])
    files.read()
    shutil.rmtree(tmp_path / "deep")
    assert files.concerns(str(tmp_path / "deep")) and not files.concerns(str(tmp_path / "other"))


def test_problem_without_source_or_line_is_its_place_and_message() -> None:
    assert str(Problem("a", "b")) == "a: b"
    assert str(Problem("a", "b", line=3, column=4)) == "line 3 column 4: a: b"
