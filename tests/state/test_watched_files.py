"""Scenario files that change while the server runs, and their watcher."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.catalog import catalog
from scenarios_app.catalog.files import FileWatcher
from scenarios_app.engine.document import dump
from scenarios_app.engine.document.files import ScenarioFiles
from scenarios_app.models import Draft, Scenario, Step
from scenarios_app.recording.files import read_all, scenario_files
from scenarios_app.store import document_of
from scenarios_app.store.documents import load
from scenarios_app.store.trash import restore, trash_entries
from tests.state.catalogs import answer

pytestmark = pytest.mark.django_db


def write(path: Path, *texts: str, name: str = "", **more: Any) -> Path:
    steps = [{"produce": {"text": text}} for text in texts]
    path.write_text(json.dumps({"name": name or path.stem, "steps": steps, **more}))
    return path


class WatchedFolder:
    """A watcher of a folder whose scenarios are loaded.

    `forgotten` has the scenarios whose state in sessions was cleared.
    """

    def __init__(self, folder: Path) -> None:
        files = scenario_files([folder])
        documents = read_all(files).documents
        load(documents)
        self.forgotten: list[str] = []
        self.watcher = FileWatcher(files, documents, forget=self.forgotten.append)

    def during_the_wait(self, change: Callable[[], object]) -> None:
        """Make a change while the watcher waits for the rest of a save."""

        def wait(seconds: float) -> bool:
            change()
            return False

        vars(self.watcher)["_stopping"].wait = wait


@pytest.fixture
def watched_folder(tmp_path: Path) -> Iterator[WatchedFolder]:
    write(tmp_path / "a.json", "1")
    write(tmp_path / "b.json", "1")
    folder = WatchedFolder(tmp_path)
    folder.during_the_wait(lambda: None)
    yield folder
    folder.watcher.stop()


def stored_answers() -> dict[str, list[str]]:
    return {
        row.name: [step.document["produce"]["text"] for step in row.steps.all()]
        for row in Scenario.objects.all()
    }


def test_changed_added_and_removed_files_are_loaded(
    watched_folder: WatchedFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a.json", "2")
    write(tmp_path / "c.json", "1")
    (tmp_path / "b.json").unlink()
    watched_folder.watcher.refresh()
    assert stored_answers() == {"a": ["2"], "c": ["1"]}
    assert watched_folder.forgotten == ["a", "b"]
    assert capsys.readouterr().err.splitlines() == [
        "mockllm: c: new",
        "mockllm: a: replaced",
        "mockllm: b: removed",
    ]


def test_recording_is_loaded_again(watched_folder: WatchedFolder, tmp_path: Path) -> None:
    turns = [{"match": {"userMessage": "hi"}, "response": {"content": "Hi!"}}]
    (tmp_path / "aimock.json").write_text(json.dumps({"fixtures": turns}))
    watched_folder.watcher.refresh()
    assert stored_answers()["aimock"] == ["Hi!"]


def test_unchanged_files_keep_their_steps_and_session_states(
    watched_folder: WatchedFolder, tmp_path: Path
) -> None:
    keys = set(Step.objects.filter(scenario__name="b").values_list("key", flat=True))
    write(tmp_path / "a.json", "2")
    watched_folder.watcher.refresh()
    assert set(Step.objects.filter(scenario__name="b").values_list("key", flat=True)) == keys
    assert watched_folder.forgotten == ["a"]


@pytest.mark.parametrize("value", [True, 1.0])
def test_number_that_becomes_a_value_of_another_type_is_loaded(
    watched_folder: WatchedFolder, tmp_path: Path, value: object
) -> None:
    for argument in (1, value):
        steps = [{"produce": {"tool_calls": [{"name": "f", "arguments": {"a": argument}}]}}]
        (tmp_path / "c.json").write_text(json.dumps({"name": "c", "steps": steps}))
        watched_folder.watcher.refresh()
    (call,) = Step.objects.get(scenario__name="c").document["produce"]["tool_calls"]
    assert json.dumps(call["arguments"]) == json.dumps({"a": value})


def test_edit_in_the_admin_stays_until_its_file_changes(
    watched_folder: WatchedFolder, tmp_path: Path
) -> None:
    Step.objects.filter(scenario__name="a").update(document=answer("edited"))
    write(tmp_path / "b.json", "2")
    watched_folder.watcher.refresh()
    assert stored_answers() == {"a": ["edited"], "b": ["2"]}
    write(tmp_path / "a.json", "3")
    watched_folder.watcher.refresh()
    assert stored_answers()["a"] == ["3"]


def test_scenario_of_a_removed_file_is_in_the_trash(
    watched_folder: WatchedFolder, tmp_path: Path
) -> None:
    before = dump(document_of(Scenario.objects.get(name="a")))
    (tmp_path / "a.json").unlink()
    watched_folder.watcher.refresh()
    (entry,) = trash_entries()
    assert (entry.name, entry.steps) == ("a", 1)
    assert dump(document_of(restore(entry.pk))) == before
    write(tmp_path / "a.json", "4")
    watched_folder.watcher.refresh()
    assert stored_answers() == {"a": ["4"], "b": ["1"]}


def test_renamed_scenario_replaces_the_one_of_the_old_name(
    watched_folder: WatchedFolder, tmp_path: Path
) -> None:
    write(tmp_path / "a.json", "1", name="new")
    watched_folder.watcher.refresh()
    assert stored_answers() == {"b": ["1"], "new": ["1"]}


def test_scenario_of_two_files_loses_the_steps_of_a_removed_one(
    watched_folder: WatchedFolder, tmp_path: Path
) -> None:
    second = write(tmp_path / "c.json", "2", name="a")
    watched_folder.watcher.refresh()
    assert stored_answers()["a"] == ["1", "2"]
    second.unlink()
    watched_folder.watcher.refresh()
    assert stored_answers()["a"] == ["1"]


def test_broken_file_keeps_its_scenario_and_is_reported_once(
    watched_folder: WatchedFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text("{")
    write(tmp_path / "b.json", "2")
    watched_folder.watcher.refresh()
    watched_folder.watcher.refresh()
    place = f"{tmp_path / 'a.json'}:1:2"
    problem = f"{place}: not valid JSON: Expecting property name enclosed in double quotes"
    assert stored_answers() == {"a": ["1"], "b": ["2"]}
    assert watched_folder.watcher.problems == (problem,)
    assert capsys.readouterr().err.splitlines() == [
        "mockllm: b: replaced",
        f"mockllm: {problem} (its changes are not loaded)",
    ]
    write(tmp_path / "a.json", "1")
    watched_folder.watcher.refresh()
    assert watched_folder.watcher.problems == ()
    assert capsys.readouterr().err == "mockllm: all scenario files are valid again\n"


def test_removed_files_are_not_called_valid(
    watched_folder: WatchedFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text("{")
    watched_folder.watcher.refresh()
    for file in tmp_path.glob("*.json"):
        file.unlink()
    watched_folder.watcher.refresh()
    last_line = capsys.readouterr().err.splitlines()[-1]
    assert last_line == "mockllm: there are no scenario files any more"


def test_problem_of_a_file_whose_name_is_no_utf_8_is_reported(
    watched_folder: WatchedFolder, tmp_path: Path
) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.json")).write_text("{")
    watched_folder.watcher.refresh()
    (problem,) = watched_folder.watcher.problems
    assert "?.json" in problem


def test_number_of_reported_problems_is_limited(
    watched_folder: WatchedFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(30):
        (tmp_path / f"x{number}.json").write_text("{")
    watched_folder.watcher.refresh()
    assert len(watched_folder.watcher.problems) == 20
    lines = capsys.readouterr().err.splitlines()
    assert (len(lines), lines[-1]) == (21, "mockllm: and 10 more problems of scenario files")


def test_file_that_is_written_in_two_parts_is_not_reported(
    watched_folder: WatchedFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text("{")
    watched_folder.during_the_wait(lambda: write(tmp_path / "a.json", "2"))
    watched_folder.watcher.refresh()
    assert stored_answers()["a"] == ["2"]
    assert capsys.readouterr().err == "mockllm: a: replaced\n"


def test_file_that_is_removed_and_written_again_keeps_its_scenario(
    watched_folder: WatchedFolder, tmp_path: Path
) -> None:
    pk = Scenario.objects.get(name="a").pk
    (tmp_path / "a.json").unlink()
    watched_folder.during_the_wait(lambda: write(tmp_path / "a.json", "2"))
    watched_folder.watcher.refresh()
    assert Scenario.objects.get(name="a").pk == pk
    assert trash_entries() == []


def test_files_that_disappear_one_after_another_are_removed_together(
    watched_folder: WatchedFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").unlink()
    watched_folder.during_the_wait(lambda: (tmp_path / "b.json").unlink(missing_ok=True))
    watched_folder.watcher.refresh()
    assert stored_answers() == {}
    assert watched_folder.forgotten == ["a", "b"]
    assert capsys.readouterr().err == "mockllm: a: removed\nmockllm: b: removed\n"


def test_file_that_never_settles_is_loaded_as_it_is(
    watched_folder: WatchedFolder, tmp_path: Path
) -> None:
    texts = (str(number) for number in range(100))
    (tmp_path / "b.json").unlink()
    watched_folder.during_the_wait(lambda: write(tmp_path / "a.json", next(texts)))
    watched_folder.watcher.refresh()
    assert stored_answers() == {"a": ["9"]}


def test_folder_that_is_removed_before_the_watch_starts_is_no_error(
    watched_folder: WatchedFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = tmp_path / "removed"
    monkeypatch.setattr(ScenarioFiles, "folders", lambda _: {str(tmp_path), str(removed)})
    watched_folder.watcher._watch()
    removed.mkdir()
    monkeypatch.setattr(watched_folder.watcher, "refresh", removed.joinpath("gone").read_bytes)
    with pytest.raises(FileNotFoundError, match="gone"):
        watched_folder.watcher._watch()


def test_draft_of_a_removed_scenario_stays(watched_folder: WatchedFolder, tmp_path: Path) -> None:
    draft = Draft.objects.create(name="a", published=Scenario.objects.get(name="a"))
    (tmp_path / "a.json").unlink()
    watched_folder.watcher.refresh()
    draft.refresh_from_db()
    assert draft.published is None


def test_skipped_file_is_reported(
    watched_folder: WatchedFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    watched_folder.watcher.refresh()
    assert "compose.yaml: passed over, scenario documents are" in capsys.readouterr().err


def test_catalog_without_watched_files_has_no_problems_of_files() -> None:
    assert catalog.files is None
    assert catalog.file_problems == ()
