"""Files of cassettes: their paths, reading, and atomic writing."""

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.testing import cassettes
from scenarios_app.testing.cassettes import default_cassette_path, read_cassette, write_cassette
from scenarios_app.testing.control import ServerFailed

FILE = Path("/tests/test_agent.py")
WRITES = 60


def test_default_path_is_beside_the_module() -> None:
    assert default_cassette_path(FILE, "test_it") == Path(
        "/tests/cassettes/test_agent/test_it.json"
    )
    assert default_cassette_path(FILE, "test_it[a-1]").name == "test_it[a-1].json"


@given(st.lists(st.text(max_size=300), min_size=2, max_size=2, unique=True))
def test_paths_of_two_tests_differ_and_stay_in_their_folder(names: list[str]) -> None:
    first_path, second_path = (default_cassette_path(FILE, name) for name in names)
    assert first_path != second_path
    for path in (first_path, second_path):
        assert path.parent == Path("/tests/cassettes/test_agent")
        assert len(path.name.encode()) <= 255 and "/" not in path.name and "\0" not in path.name


@pytest.mark.parametrize("name", ["測" * 100, "ä" * 126, "a" * 121, "/" + "測" * 119])
def test_name_of_a_cassette_fits_into_a_file_system(name: str, tmp_path: Path) -> None:
    path = default_cassette_path(tmp_path / "test_agent.py", name)
    write_cassette(path, {"name": "a", "steps": []})
    assert read_cassette(path) == {"name": "a", "steps": []}


def test_written_cassette_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    write_cassette(path, {"name": "ü", "steps": []})
    assert read_cassette(path) == {"name": "ü", "steps": []}
    assert os.listdir(path.parent) == ["b.json"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_cassette_without_a_name_is_named_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    path.write_text('{"steps": []}')
    assert read_cassette(path) == {"name": "agent", "steps": []}
    assert read_cassette(tmp_path / "other.json") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"steps": [', "\xff", "[" * 100_000])
def test_invalid_cassette_error_names_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ServerFailed, match=r"x\.json: is no cassette"):
        read_cassette(path)


def test_failed_write_leaves_the_old_cassette(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    write_cassette(path, {"name": "old", "steps": []})

    def raise_disk_full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cassettes.os, "fsync", raise_disk_full)
    with pytest.raises(ServerFailed, match="cannot be written: No space left on device"):
        write_cassette(path, {"name": "new", "steps": []})
    assert os.listdir(tmp_path) == ["x.json"]
    assert read_cassette(path) == {"name": "old", "steps": []}


def test_reader_during_writes_sees_a_complete_cassette(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    documents = [{"name": str(n), "steps": [], "description": str(n) * 20_000} for n in range(4)]
    write_cassette(path, documents[0])

    def write(document: dict[str, object]) -> None:
        for _ in range(WRITES):
            write_cassette(path, document)

    threads = [threading.Thread(target=write, args=[document]) for document in documents]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert json.loads(path.read_text()) in documents
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["x.json"]
