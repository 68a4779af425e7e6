"""Errors of users at the command line: one line, an exit code, and no traceback."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project import command_lines
from tests.project.command_lines import CommandLine, CommandResult

UUID = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
SECRET = "hunter2"
MIGRATE_FIRST = r"run `mockllm migrate` or `mockllm serve` first"
NO_FILE = rf"mockllm: database \S+/new/mockllm\.sqlite3: there is no such file, {MIGRATE_FIRST}"
IN_MEMORY = (
    r"mockllm: test mode keeps its database in the memory of each process, "
    r".+serve --fixture NAME.+/control/"
)
PORT = (
    r"mockllm serve: argument --port: expected a number from 0 to 65535, got '{}'; "
    r"`mockllm serve --help` says more"
)
OPTION = (
    r"mockllm serve: no option --wrokers, did you mean --workers\? "
    r"`mockllm serve --help` says more"
)
NEED_TABLES = {
    "load_scenarios": ["load_scenarios", "../document.json"],
    "export_scenarios": ["export_scenarios"],
    "check_scenarios": ["check_scenarios"],
    "prune": ["prune", "--days", "1"],
    "export_traces": ["export_traces"],
    "trace_scenario": ["trace_scenario", UUID],
    "loaddata": ["loaddata", "demo"],
    "dumpdata": ["dumpdata"],
    "createsuperuser": [
        "createsuperuser",
        "--noinput",
        "--username",
        "a",
        "--email",
        "a@b.example",
    ],
    "changepassword": ["changepassword", "admin"],
}
SERVE = ["serve", "--port", "0"]
# Database addresses, and the error for each.
DATABASES = {
    "a directory": ("sqlite:///{}", r"database \S+: is a directory, expected a file"),
    "nowhere": ("sqlite:///{}/no/such.sqlite3", r"database \S+: there is no directory \S+/no"),
    "no database": ("sqlite:///{}/text.sqlite3", r"database \S+: file is not a database"),
    "below a file": ("sqlite:///{}/document.json/x", r"database \S+: there is no directory \S+"),
    "out of reach": (
        f"postgres://mockllm:{SECRET}@127.0.0.1:1/mockllm",
        r"database mockllm at 127\.0\.0\.1:1: connection failed: .*Connection refused.*",
    ),
}
FIXTURES = {
    "../document.json": r"\S+/document\.json holds scenario documents and is no fixture: .+",
    "../documents.json": r"\S+/documents\.json holds scenario documents and is no fixture: .+",
    "../broken.json": r"\S+/broken\.json:1:9: not valid JSON: .+",
    "../rows.json": r"\S+/rows\.json is no fixture: expected a list of rows, .+",
    "nothing": r"No fixture named 'nothing' found\. There are .*demo, .*turns\.",
    "demo.txt": r".+txt is not a known serialization format\.",
}
SCENARIOS = {
    "../none": r"\.\./none: cannot be read: No such file or directory",
    "../broken.json": r"\.\./broken\.json:1:9: not valid JSON: .+",
    "../script.yaml": r"\.\./script\.yaml:1:1: name: expected .+",
    "../wrong.json": r"\.\./wrong\.json:1:38: steps\[0\]\.produce\.texd: .+",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with files of wrong formats and an empty directory."""
    folder = tmp_path_factory.mktemp("errors")
    document = {"name": "a", "steps": [{"produce": {"text": "Hi"}}]}
    wrong = {"name": "a", "steps": [{"produce": {"texd": "Hi"}}]}
    texts = {
        "document.json": json.dumps(document),
        "documents.json": json.dumps([document]),
        "wrong.json": json.dumps(wrong),
        "broken.json": '{"name":',
        "rows.json": '{"model": 1}',
        "script.yaml": "name: 5\n",
        "empty.sqlite3": "",
        "text.sqlite3": "This is a text.\n" * 100,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "new").mkdir()
    return folder


def lines(directory: Path, busy: int) -> Iterator[tuple[str, CommandLine, str, int]]:
    """Yield a name, the command line, the pattern of its error line, and the exit code."""
    new = str(directory / "new")
    for name, arguments in NEED_TABLES.items():
        yield f"no file: {name}", CommandLine(arguments, new), NO_FILE, 1
    empty = CommandLine(["export_scenarios"], new, f"sqlite:///{directory}/empty.sqlite3")
    no_tables = rf"mockllm: database \S+/empty\.sqlite3 has no tables yet: {MIGRATE_FIRST}"
    yield "no tables", empty, no_tables, 1
    before = [["migrate", "--verbosity", "0", "scenarios_app", "0001"]]
    older = CommandLine(
        ["prune", "--days", "1"], new, f"sqlite:///{directory}/older.sqlite3", before
    )
    line = r"mockllm: database \S+ is of another version: run `mockllm migrate` or .+ first"
    yield "older tables", older, line, 1
    for name, (address, message) in DATABASES.items():
        url = address.format(directory)
        for command in (SERVE, ["export_scenarios"]):
            yield f"{name}: {command[0]}", CommandLine(command, new, url), f"mockllm: {message}", 1
    for name, message in FIXTURES.items():
        url = f"sqlite:///{directory}/fixtures.sqlite3"
        serve = CommandLine([*SERVE, "--no-demo", "--fixture", name], new, url)
        yield f"--fixture {name}", serve, f"mockllm: --fixture {name}: {message}", 1
        yield (
            f"loaddata {name}",
            CommandLine(["loaddata", name], new, url),
            f"mockllm: {message}",
            1,
        )
    for name, message in SCENARIOS.items():
        yield (
            f"load_scenarios {name}",
            CommandLine(["load_scenarios", name], new),
            f"mockllm: {message}",
            1,
        )
    for port in ("abc", "70000", "-1", "1.5", ""):
        yield f"--port {port}", CommandLine(["serve", f"--port={port}"], new), PORT.format(port), 2
    busy_port_message = rf"mockllm: cannot listen on 127\.0\.0\.1:{busy}: Address already in use"
    yield "a busy port", CommandLine(["serve", "--port", str(busy)], new), busy_port_message, 1
    unknown = CommandLine(["serve", "--wrokers", "2"], new)
    yield "an option", unknown, OPTION, 2
    nothing = r"mockllm load_scenarios: the following arguments are required: PATH; .+"
    yield "an argument", CommandLine(["load_scenarios"], new), nothing, 2
    shells = r"mockllm completion: the following arguments are required: bash\|zsh\|fish; .+"
    yield "a shell", CommandLine(["completion"], new), shells, 2
    command = r"mockllm: no command 'srve', did you mean serve\? `mockllm help` lists them"
    yield "a command", CommandLine(["srve"], new), command, 1
    strange = r"mockllm: no command '--port'; `mockllm help` lists them"
    yield "no command", CommandLine(["--port", "9"], new), strange, 1


def describe_mismatch(result: CommandResult, pattern: str, code: int) -> str:
    """Return the exit code and output if they are not as expected, otherwise an empty string."""
    right = re.fullmatch(f"{pattern}\n", result.err) and result.code == code
    return "" if right else f"{result.code}: {result.err}"


def test_user_error_is_one_line_and_an_exit_code(directory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        rows = list(lines(directory, listener.getsockname()[1]))
        results = command_lines.run({name: line for name, line, _, _ in rows}, mode="dev")
    mismatches = {
        name: describe_mismatch(results[name], pattern, code) for name, _, pattern, code in rows
    }
    assert {name: text for name, text in mismatches.items() if text} == {}
    assert not any(SECRET in result.err for result in results.values())
    # A refused command leaves no empty database behind.
    assert list((directory / "new").glob("*.sqlite3*")) == []


def test_in_test_mode_a_command_says_how_to_reach_a_server(directory: Path) -> None:
    new = str(directory / "new")
    lines = {name: CommandLine(arguments, new) for name, arguments in NEED_TABLES.items()}
    results = command_lines.run(lines, mode="test")
    mismatches = {name: describe_mismatch(result, IN_MEMORY, 1) for name, result in results.items()}
    assert {name: text for name, text in mismatches.items() if text} == {}
