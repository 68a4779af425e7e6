"""`serve --watch` loads changed files and names broken ones on the console and in 404s."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.serving.pipelines import chat, scenario, text_step
from tests.serving.processes.serve_process import (
    ServerProcess,
    run_failing_start,
    run_server,
    write_scenarios,
)

pytestmark = pytest.mark.timeout(300)
SECONDS = 60.0


MAX_GROWTH_BYTES = 50_000_000


def resident_bytes(pid: int) -> int:
    """Return the memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def save_scenario(folder: Path, text: str, *, name: str = "s") -> None:
    """Save a scenario that answers everything, as editors save: by renaming a new file."""
    folder.mkdir(parents=True, exist_ok=True)
    document = scenario(name, {"consume": False, **text_step(text)})
    os.replace(write_scenarios(folder.parent, document), folder / f"{name}.json")


def ask(server: ServerProcess) -> Any:
    call = chat()
    url = f"{server.base_url}{call.path}"
    body = httpx2.post(url, content=call.body, headers=dict(call.headers), timeout=20).json()
    return body["error"]["message"] if "error" in body else body["choices"][0]["message"]["content"]


def wait_for_answer(server: ServerProcess, is_expected: Callable[[str], bool]) -> str:
    """Return the answer once it is the expected one."""
    deadline = time.monotonic() + SECONDS
    while not is_expected(answer := ask(server)):
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
    return answer


def test_edited_added_and_removed_files_are_live(tmp_path: Path) -> None:
    folder = tmp_path / "scenarios"
    save_scenario(folder, "one")
    with run_server(tmp_path, "--watch", warm=True, MOCKLLM_SCENARIOS="scenarios") as server:
        assert ask(server) == "one"
        save_scenario(folder, "two")
        wait_for_answer(server, lambda answer: answer == "two")
        save_scenario(folder / "deep" / "er", "new", name="a")
        wait_for_answer(server, lambda answer: answer == "new")
        shutil.rmtree(folder / "deep")
        wait_for_answer(server, lambda answer: answer == "two")
        shutil.rmtree(folder)
        wait_for_answer(server, lambda answer: "no_scenario_matched" in answer)
        save_scenario(folder, "three")
        wait_for_answer(server, lambda answer: answer == "three")
        code, _, err = server.end()
    assert code == 0 and "Traceback" not in err and "watchfiles" not in err
    assert err.count("mockllm: s: new") == err.count("mockllm: s: removed") == 1


def test_broken_file_is_named_on_the_console_and_in_the_next_404(tmp_path: Path) -> None:
    folder = tmp_path / "scenarios"
    save_scenario(folder, "one")
    with run_server(tmp_path, "--watch", warm=True, MOCKLLM_SCENARIOS="scenarios") as server:
        (folder / "s.json").write_text('{"name": "s",\n "steps": [\n  {"produce": {"txt": ""}}]}')
        place = "scenarios/s.json:3:16: steps[0].produce.txt: unknown key"
        server.wait_for_log(f"mockllm: {place}")
        assert ask(server) == "one"
        (folder / "s.json").rename(tmp_path / "kept.json")
        server.wait_for_log("there are no scenario files any more")
        shutil.copy(tmp_path / "kept.json", folder / "s.json")
        answer = wait_for_answer(server, lambda answer: place in answer)
        assert answer.startswith("no_scenario_matched: ")
        assert ". A scenario file has an error, so its changes are not loaded: " in answer
        save_scenario(folder, "two")
        wait_for_answer(server, lambda answer: answer == "two")
        httpx2.delete(f"{server.base_url}/control/scenarios/s").raise_for_status()
        assert "scenario file" not in ask(server)


def test_target_of_a_link_and_a_named_file_are_watched(tmp_path: Path) -> None:
    save_scenario(tmp_path / "elsewhere", "one")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "link.json").symlink_to(tmp_path / "elsewhere" / "s.json")
    save_scenario(tmp_path / "named", "named", name="z")
    paths = os.pathsep.join(["scenarios", "named/z.json"])
    with run_server(tmp_path, "--watch", warm=True, MOCKLLM_SCENARIOS=paths) as server:
        assert ask(server) == "one"
        save_scenario(tmp_path / "elsewhere", "two")
        wait_for_answer(server, lambda answer: answer == "two")
        (tmp_path / "elsewhere" / "s.json").unlink()
        wait_for_answer(server, lambda answer: answer == "two")
        (tmp_path / "scenarios" / "link.json").unlink()
        wait_for_answer(server, lambda answer: answer == "named")
        save_scenario(tmp_path / "named", "again", name="z")
        wait_for_answer(server, lambda answer: answer == "again")


def test_devices_pipes_and_huge_files_stop_no_edit_and_take_no_memory(tmp_path: Path) -> None:
    folder = tmp_path / "scenarios"
    save_scenario(folder, "one")
    with run_server(tmp_path, "--watch", warm=True, MOCKLLM_SCENARIOS="scenarios") as server:
        assert ask(server) == "one"
        before = resident_bytes(server.process.pid)
        (folder / "device.json").symlink_to("/dev/zero")
        os.mkfifo(folder / "pipe.json")
        with (folder / "sparse.json").open("wb") as file:
            file.truncate(3_000_000_000)
        for name, reason in [
            ("device", "no regular file"),
            ("pipe", "no regular file"),
            ("sparse", "larger than 5,242,880 bytes (for servers, MOCKLLM_MAX_UPLOAD_BYTES)"),
        ]:
            server.wait_for_log(f"mockllm: scenarios/{name}.json: cannot be read: {reason}")
        save_scenario(folder, "two")
        wait_for_answer(server, lambda answer: answer == "two")
        assert resident_bytes(server.process.pid) < before + MAX_GROWTH_BYTES


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_start_with_a_file_that_never_ends_fails_and_names_it(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "scenarios" / f"{kind}.json"
    file.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    code, _, err = run_failing_start(tmp_path, "--port", "0", MOCKLLM_SCENARIOS="scenarios")
    assert code == 1
    assert f"scenarios/{kind}.json: cannot be read: no regular file" in err
    assert "Traceback" not in err


def test_watch_without_files_is_refused(tmp_path: Path) -> None:
    code, _, err = run_failing_start(tmp_path, "--port", "0", "--watch")
    assert code == 1
    assert err.strip() == (
        "mockllm: --watch: MOCKLLM_SCENARIOS names no file or directory to watch"
    )
