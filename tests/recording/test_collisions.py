"""Recordings that share a name or a request are reported at import and at start."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from scenarios_app.recording.collisions import MAX_NOTES
from scenarios_app.recording.files import read_all, read_paths, read_upload, scenario_files
from tests.fresh.processes import mockllm
from tests.support import fork_server

DATA = Path(__file__).parents[1] / "data" / "cassettes"
WEATHER = (DATA / "openai_weather.yaml").read_bytes()
THINKING = (DATA / "anthropic_thinking.yaml").read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two suites that have a cassette of the same name."""
    for name, data in (("a/login.yaml", WEATHER), ("b/login.yaml", WEATHER)):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
    return tmp_path


def notes_of(*paths: Path, folder: Path) -> list[str]:
    return [str(note).replace(f"{folder}/", "") for note in read_paths(paths).notes]


def cassette(file: Path, name: str, *texts: str) -> Path:
    conditions = [
        {"path": "/v1/responses", "recorded": {"body": {"input": text}}} for text in texts
    ]
    steps = [{"match": condition, "produce": {"text": "Hi!"}} for condition in conditions]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"name": name, "tags": ["recording"], "steps": steps}))
    return file


def test_second_recording_of_a_name_is_noted_with_its_new_name(folder: Path) -> None:
    name_note, _ = notes_of(folder, folder=folder)
    assert name_note == "b/login.yaml: its scenario is named login-2, since login is taken"
    uploaded = read_upload(WEATHER, source="login.yaml", used_names={"login"})
    assert uploaded is not None
    (note,) = uploaded.notes
    assert note.message == "its scenario is named login-2, since login is taken"


def test_equal_requests_of_two_recordings_are_noted_with_the_one_that_answers(folder: Path) -> None:
    _, request_note = notes_of(folder, folder=folder)
    assert request_note == (
        "b/login.yaml: login-2: 2 of 2 requests are in login too; "
        "the first name answers, or the one in the header X-MockLLM-Scenario"
    )


def test_recordings_with_other_names_and_requests_are_not_noted(folder: Path) -> None:
    (folder / "b/login.yaml").unlink()
    (folder / "a/thinking.yaml").write_bytes(THINKING)
    assert notes_of(folder, folder=folder) == []


def test_cassettes_with_one_name_are_noted_as_merged(tmp_path: Path) -> None:
    file = cassette(tmp_path / "a.json", "joke", "A joke.")
    cassette(tmp_path / "b.json", "joke", "A poem.")
    assert notes_of(tmp_path, folder=tmp_path) == [
        "a.json: joke: one scenario with the steps of b.json, which has the same name"
    ]
    assert notes_of(file, folder=tmp_path) == []


def test_request_that_comes_twice_in_one_recording_is_not_noted(tmp_path: Path) -> None:
    file = cassette(tmp_path / "a.json", "joke", "A joke.", "A joke.")
    assert notes_of(file, folder=tmp_path) == []


def test_many_collisions_end_with_a_count(tmp_path: Path) -> None:
    for number in range(MAX_NOTES + 3):
        cassette(tmp_path / f"{number}.json", f"joke {number:02}", "A joke.")
    notes = notes_of(tmp_path, folder=tmp_path)
    assert len(notes) == MAX_NOTES + 1
    assert notes[-1] == "and 2 more recordings that collide"


def test_files_that_are_read_again_are_noted_once(folder: Path) -> None:
    files = scenario_files([folder])
    assert len(read_all(files).notes) == 2
    files.notes.clear()
    files.read()
    assert files.notes == []


@pytest.mark.process
def test_server_reports_collisions_at_its_start(folder: Path) -> None:
    process = mockllm(
        "serve",
        *("--port", "0", "--fixture", "missing"),
        cwd=folder,
        python=fork_server.python(),
        MOCKLLM_ENV="test",
        MOCKLLM_SCENARIOS=str(folder),
    )
    lines = process.stderr.splitlines()
    assert [line.partition(": ")[2].rpartition("/b/")[2] for line in lines[:2]] == [
        "login.yaml: its scenario is named login-2, since login is taken",
        "login.yaml: login-2: 2 of 2 requests are in login too; "
        "the first name answers, or the one in the header X-MockLLM-Scenario",
    ]
    assert "--fixture missing" in lines[-1]


def run_import(*arguments: str | Path) -> str:
    out = StringIO()
    call_command("import", *map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def test_import_writes_files_that_load_again(folder: Path) -> None:
    output = folder / "out"
    output_text = run_import(folder / "a", folder / "b", "--output", output)
    assert f"{output}/login.json: 2 steps, new" in output_text
    assert f"{output}/login-2.json: 2 steps, new" in output_text
    documents = read_paths([output]).documents
    first, second = read_paths([folder / "a", folder / "b"]).documents
    assert {document.name: document.steps for document in documents} == {
        "login": first.steps,
        "login-2": second.steps,
    }
    assert "login.json: 2 steps, replaced" in run_import(folder / "a", "--output", output)


def test_import_into_files_reports_them_as_json(folder: Path) -> None:
    output = folder / "out"
    report = json.loads(run_import(folder / "a", "--output", output, "--json", "--dry-run"))
    file = str(output / "login.json")
    scenario = {"name": "login", "steps": 2, "replaced": False, "file": file}
    assert report == {"scenarios": [scenario], "notes": [], "loaded": False}
    assert not output.exists()
    assert "login.json: 2 steps, not written" in run_import(folder, "--output", output, "--dry-run")


def test_import_never_replaces_a_file_that_is_no_recording(folder: Path) -> None:
    output = folder / "out"
    output.mkdir()
    for text in ('{"name": "login", "steps": []}', "no JSON"):
        (output / "login.json").write_text(text)
        with pytest.raises(CommandError, match=r"login.json: exists and is no recording"):
            run_import(folder / "a", "--output", output)
        assert (output / "login.json").read_text() == text


def test_name_that_is_no_file_name_is_changed(tmp_path: Path) -> None:
    cassette(tmp_path / "in/one.json", "../a/b", "A joke.")
    cassette(tmp_path / "in/two.json", "..", "A poem.")
    run_import(tmp_path / "in", "--output", tmp_path / "out")
    file_names = {file.name for file in (tmp_path / "out").iterdir()}
    assert file_names == {"_a_b.json", "recording.json"}


@pytest.mark.process
def test_import_into_files_needs_no_database(folder: Path) -> None:
    process = mockllm(
        *("import", "a", "--output", "out"),
        cwd=folder,
        python=fork_server.python(),
        DATABASE_URL="postgres://nobody@127.0.0.1:1/nothing",
    )
    assert (process.returncode, process.stdout) == (0, "out/login.json: 2 steps, new\n"), (
        process.stderr
    )
    assert {file.name for file in folder.iterdir()} == {"a", "b", "out"}
