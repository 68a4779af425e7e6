"""The npm package mockllm-vitest, built by `npm pack`, in suites of vitest."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from scenarios_app.testing.process import ServerOptions, server_process
from scenarios_app.testing.variables import sdk_variables
from tests.docs.blocks import ROOT, blocks_of
from tests.docs.page_runner import PageRunner
from tests.docs.places import INSTALLED, shell_path
from tests.frameworks.test_page import JAVASCRIPT, follow
from tests.support.required_services import require

HERE = Path(__file__).parent
PACKAGE = ROOT / "tools" / "vitest"
MODULES = HERE / "node_modules"
SUITES = HERE / "vitest"
PAGE = "docs/how-to/vitest.md"
SECONDS = 300
VARIABLES_OF_MOCKLLM = set(sdk_variables("http://base", "key", environment={}))
# Google's client reads this variable for another API.
OTHER_APIS = {"GOOGLE_VERTEX_BASE_URL"}
NPM, NODE = shutil.which("npm"), shutil.which("node")

pytestmark = [
    pytest.mark.skipif(not os.environ.get("MOCKLLM_NPM"), reason="make test-npm runs these"),
    pytest.mark.timeout(2 * SECONDS),
]


@pytest.fixture(scope="module", autouse=True)
def install_package(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Install the package beside the clients, from the archive that would be published."""
    is_available = NPM is not None and (MODULES / "vitest").is_dir()
    require(is_available, "vitest could not be installed beside the scripts")
    folder = tmp_path_factory.mktemp("packed")
    pack_command = [str(NPM), "pack", "--silent", "--pack-destination", str(folder)]
    subprocess.run(pack_command, cwd=PACKAGE, check=True, capture_output=True, timeout=SECONDS)
    (archive,) = folder.iterdir()
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    target = MODULES / "mockllm-vitest"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder / "package", target)


def run_suite(suite: str, **variables: str) -> dict[str, Any]:
    """Run a suite; return its report, with what vitest printed as `output`."""
    inherited = {name: value for name, value in os.environ.items() if name != "MOCKLLM_URL"}
    command = ("vitest", "run", "--root", str(SUITES / suite), "--reporter=json")
    result = subprocess.run(
        [str(NODE), str(MODULES / "vitest" / "vitest.mjs"), *command[1:]],
        cwd=HERE,
        env={**inherited, "PATH": shell_path(INSTALLED), "NO_COLOR": "1", **variables},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    line = next((row for row in result.stdout.splitlines() if row.startswith("{")), "{}")
    return {**json.loads(line), "output": result.stdout + result.stderr, "code": result.returncode}


def list_results(report: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield title, status and messages of each test."""
    for file in report["testResults"]:
        for result in file["assertionResults"]:
            yield result["title"], result["status"], "\n".join(result["failureMessages"])


def test_unchanged_sdks_get_scripted_answers_each_test_in_its_session() -> None:
    report = run_suite("passing")
    failures = [(title, text) for title, status, text in list_results(report) if status != "passed"]
    assert failures == [], report["output"]
    assert report["numPassedTests"] == 39, report["output"]


def test_verdict_fails_a_test_with_its_text() -> None:
    report = run_suite("failing")
    results = list(list_results(report))
    assert len(results) == 11, report["output"]
    for title, status, text in results:
        fails = not title.startswith("a ")
        assert status == ("failed" if fails else "passed"), (title, text)
        assert not fails or title in text, (title, text)
    # One test fails by its own assertion, and one switches its verdict off.
    assert report["output"].count("mockllm: FAILED: session key-") >= 2


def test_suite_uses_a_running_server_and_leaves_nothing_there() -> None:
    with server_process(ServerOptions()) as (url, _):
        report = run_suite("failing", MOCKLLM_URL=url)
        assert len(list(list_results(report))) == 11, report["output"]
        messages = [
            text for title, _, text in list_results(report) if title.startswith("never served")
        ]
        assert "session vitest-" in messages[0]
        second_report = run_suite("failing", MOCKLLM_URL=url)
        assert [case[:2] for case in list_results(second_report)] == [
            case[:2] for case in list_results(report)
        ]


def test_missing_command_is_one_line_that_says_what_to_do() -> None:
    report = run_suite("failing", MOCKLLM_COMMAND="no-such-mockllm")
    assert report["code"] == 1
    assert (
        "mockllm: no-such-mockllm: no such command; install mockllm in a .venv"
        in (report["output"])
    )


def test_server_that_cannot_start_is_its_own_error_line(tmp_path: Path) -> None:
    command = tmp_path / "mockllm"
    command.write_text('#!/bin/sh\necho "mockllm: the port is taken" >&2\nexit 1\n')
    command.chmod(0o755)
    report = run_suite("failing", MOCKLLM_COMMAND=str(command))
    assert "Error: mockllm: the port is taken" in report["output"]


def test_url_of_another_server_is_an_error_line(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>Another server</p>")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as other_server:
        Thread(target=other_server.serve_forever).start()
        url = f"http://127.0.0.1:{other_server.server_port}"
        report = run_suite("failing", MOCKLLM_URL=url)
        other_server.shutdown()
    assert report["code"] == 1
    assert "answers 501, and not as a mockllm server" in report["output"]


def test_types_name_every_method_of_a_session_and_a_stub() -> None:
    declared = set(re.findall(r"^  (?:readonly )?(\w+)[(:?]", read_index_types(), re.MULTILINE))
    session = (PACKAGE / "session.mjs").read_text()
    methods = set(re.findall(r"^  (?:async |get )?(\w+)\(.*\{$", session, re.MULTILINE))
    internal = {"constructor", "end", "emptyStubs", "isEmpty", "for", "if"}
    assert methods - internal <= declared
    assert {"on", "reply", "toolCall", "fail", "verify", "configure"} <= methods


def read_index_types() -> str:
    return (PACKAGE / "index.d.ts").read_text()


def test_page_names_every_method_and_option() -> None:
    page = (ROOT / PAGE).read_text()
    options = re.findall(r"^  (\w+)\?:", (PACKAGE / "config.d.ts").read_text(), re.MULTILINE)
    assert [name for name in options if f"| `{name}` |" not in page] == []
    methods = re.findall(r"^  (\w+)\(", read_index_types(), re.MULTILINE)
    assert [name for name in methods if f".{name}(" not in page] == []


def test_every_block_of_the_page_works(tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(MODULES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    python = str(INSTALLED / "python")
    with PageRunner(tmp_path, path=shell_path(INSTALLED), python=python) as page_runner:
        for block in blocks_of(PAGE):
            try:
                page_runner.follow(block)
            except AssertionError as error:
                pytest.fail(f"{block.place}: {error}", pytrace=False)


def test_ai_sdk_section_of_the_page_of_frameworks_works(tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(MODULES)
    path, python = shell_path(INSTALLED), str(INSTALLED / "python")
    follow(JAVASCRIPT, folder=tmp_path, path=path, python=python)


def test_variables_of_the_table_of_clients_are_those_that_the_packages_read() -> None:
    table = (ROOT / "docs" / "how-to" / "other-languages.md").read_text()
    rows = table.partition("### JavaScript")[2].partition("\n\n| ")[2].partition("\n\n")[0]
    checked = 0
    for row in rows.splitlines()[2:]:
        packages, base_url, key = (cell.strip() for cell in row.strip("|").split(" | "))
        for package in re.findall(r"`([^`]+)`", packages):
            source = read_sources(package)
            variables = re.findall(r"`([A-Z_]{5,})`", base_url + key)
            assert [name for name in variables if name not in source] == [], package
            read_variables = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)*_(?:BASE_URL|HOST)\b", source))
            set_variables = {name for name in read_variables if name in VARIABLES_OF_MOCKLLM}
            assert set_variables <= set(variables) | OTHER_APIS, (package, set_variables)
            checked += 1
    assert checked == 10


def read_sources(package: str) -> str:
    """Return the code of an installed package, or of the one that it wraps."""
    folder = MODULES / ("openai" if package == "@openai/agents" else package)
    files = (path for path in folder.rglob("*js") if path.suffix in (".js", ".mjs", ".cjs"))
    source_files = [path for path in files if "node_modules" not in path.relative_to(folder).parts]
    return "\n".join(path.read_text(errors="replace") for path in source_files)
