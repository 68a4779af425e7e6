"""`mockllm drift`: what is asked today, or answered, beside what cassettes hold."""

import asyncio
import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from scenarios_app.recording.drift import drift_json
from scenarios_app.recording.upstreams import read_upstreams
from scenarios_app.testing.control import Control, ServerFailed
from scenarios_app.testing.documents import documents_of
from scenarios_app.testing.process import Start, server_process
from scenarios_app.testing.record import PATHS, SETTING, upstream_settings
from scenarios_app.testing.run import API_KEY, CannotRun, run_command
from scenarios_app.testing.variables import real_keys, sdk_variables, unset_variables
from scenarios_app.verdict.reports import Case, junit

HELP = (
    "Compares cassettes with today's requests or responses. "
    "The exit code is 0 without drift, 1 with drift, 2 if the check could not be run."
)
DRIFTED: Final = 1
UNTOLD: Final = 2
# One cassette's file, and what drifted of it.
Found = dict[str, list[dict[str, Any]]]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "cassettes", nargs="+", metavar="CASSETTE", help="a cassette, or a folder of them"
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="what pytest wrote with --mockllm-report=FILE.json, in place of a command",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="ask the providers anew, and compare the shape of their answers with the recorded one",
    )
    parser.add_argument("--json", action="store_true", help="JSON in place of text")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML there as well")
    parser.epilog = (
        "After --, a command that asks: pytest, or any other. It is answered from the cassettes "
        "alone; what it says goes to standard error."
    )


def main(arguments: Sequence[str]) -> int:
    """The exit code of `mockllm drift` with these arguments."""
    parser = ArgumentParser(prog="mockllm drift", description=HELP)
    add_arguments(parser)
    own, command = split(arguments)
    return drift(parser.parse_args(own), command)


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own arguments, and the command after `--`."""
    given = list(arguments)
    at = given.index("--") if "--" in given else len(given)
    return given[:at], given[at + 1 :]


def drift(options: Namespace, command: Sequence[str]) -> int:
    """Compare, and tell what drifted."""
    if sum((bool(command), bool(options.report), bool(options.live))) != 1:
        return _untold("expected one of: a command after --, --report FILE, --live")
    try:
        files = {str(file): _cassette(file) for file in _files(options.cassettes)}
        told: list[str] = []
        if options.live:
            found = _live(files)
        elif options.report:
            found, told = _of_report(options.report, files)
        else:
            found, told = _of_command(command, files)
        text = _text(found, told)
        if options.junit:
            _write(options.junit, junit("mockllm drift", _cases(found)))
    except CannotRun as error:
        return _untold(error.args[1])
    except ServerFailed as error:
        return _untold(str(error))
    body = {"drifted": any(found.values()), "cassettes": _listed(found), "notes": told}
    print(json.dumps(body, indent=1, ensure_ascii=False) if options.json else text)
    return DRIFTED if any(found.values()) else 0


def _of_command(
    command: Sequence[str], files: Mapping[str, dict[str, Any]]
) -> tuple[Found, list[str]]:
    """What drifts while a command runs that is answered from the cassettes alone."""
    # Cassettes of different folders may have one name.
    documents = [{**document, "name": file} for file, document in files.items()]
    with server_process(Start()) as (base_url, _):
        control = Control(base_url)
        try:
            control.send("PUT", "recording", {"mode": "none", "cassettes": documents})
            variables = sdk_variables(base_url, API_KEY, environment=os.environ)
            variables |= {"MOCKLLM_RECORD": "none", "MOCKLLM_DRIFT": "1"}
            code = run_command(command, variables, unset=unset_variables(), output=sys.stderr)
            ended = control.response("DELETE", "recording")
            if ended.status_code == 404:
                # Tests with cassettes of their own.
                reports = control.send("GET", "drift")["recordings"]
                found, told = _of_reports((one for one in reports if one["session"]), files)
            else:
                body = ended.json()
                found, told = _collected(files, body["drift"]), _unreached(body)
        finally:
            control.close()
    if code and not any(found.values()):
        raise ServerFailed(f"the command failed (exit code {code}), and not for what drifted")
    return found, told


def _of_report(report: str, files: Mapping[str, dict[str, Any]]) -> tuple[Found, list[str]]:
    try:
        tests = json.loads(Path(report).read_bytes())["tests"]
        reports = [{**test, "cassettes": [test["cassette"]]} for test in tests if _has(test)]
    except OSError as error:
        raise ServerFailed(f"{report}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ServerFailed(f"{report}: expected what --mockllm-report=FILE.json writes") from None
    return _of_reports(reports, files)


def _has(test: Mapping[str, Any]) -> bool:
    """Whether a test was answered from a cassette."""
    return bool(test.get("cassette"))


def _of_reports(
    reports: Iterable[Mapping[str, Any]], files: Mapping[str, dict[str, Any]]
) -> tuple[Found, list[str]]:
    """What tests with cassettes of their own say, as far as it is about these files."""
    found: Found = {}
    told: list[str] = []
    for one in reports:
        for label in one["cassettes"]:
            file = _file_of(label, files)
            if file is not None:
                found.setdefault(file, []).extend(one["drift"])
                told += _unreached(one, file)
    unasked = [file for file in files if file not in found]
    told += [f"{file}: no test asked for it" for file in unasked]
    return {file: found.get(file, []) for file in files}, told


def _file_of(label: str, files: Mapping[str, dict[str, Any]]) -> str | None:
    """The file of a cassette that is called by its name or by its path."""
    for file, document in files.items():
        if document["name"] == label or Path(file).resolve().as_posix().endswith(f"/{label}"):
            return file
    return None


def _live(files: Mapping[str, dict[str, Any]]) -> Found:
    # Only here: this asks others, which nothing else does.
    from scenarios_app.testing.live import live_drift

    settings = upstream_settings(os.environ)
    upstreams = read_upstreams(settings[SETTING].split(","))
    documents = [{**document, "name": file} for file, document in files.items()]
    keys = real_keys(os.environ)
    paths = [path for path in settings.get(PATHS, "").split(",") if path]
    drifted = asyncio.run(live_drift(documents, upstreams=upstreams, keys=keys, paths=paths))
    return _collected(files, map(drift_json, drifted))


def _collected(files: Iterable[str], drifts: Iterable[dict[str, Any]]) -> Found:
    found: Found = {file: [] for file in files}
    for one in drifts:
        found.setdefault(one["cassette"], []).append(one)
    return found


def _unreached(body: Mapping[str, Any], file: str = "") -> list[str]:
    """What is not known of recorded steps, since something before them drifted."""
    after = "not asked after what drifted"
    steps = [name.rpartition("/") for name in body["unreached"]]
    return [f"{file or cassette}, step {step}: {after}" for cassette, _, step in steps]


def _files(given: Iterable[str]) -> list[Path]:
    found: dict[Path, None] = {}
    for text in given:
        path = Path(text)
        if not path.exists():
            raise ServerFailed(f"{path}: there is no such cassette")
        found |= dict.fromkeys(sorted(path.rglob("*.json")) if path.is_dir() else [path])
    kept = [path for path in found if not path.name.startswith(".")]
    if not kept:
        raise ServerFailed(f"{', '.join(given)}: there is no cassette in it")
    return kept


def _cassette(file: Path) -> dict[str, Any]:
    documents = documents_of([file])
    if len(documents) != 1:
        raise ServerFailed(f"{file}: expected one scenario, got {len(documents)}")
    return documents[0]


def _listed(found: Found) -> list[dict[str, Any]]:
    return [{"cassette": file, "drift": drifts} for file, drifts in found.items()]


def _text(found: Found, told: Iterable[str]) -> str:
    drifted = sum(bool(drifts) for drifts in found.values())
    lines = [f"{_number(len(found), 'cassette')}, {drifted or 'none'} drifted"]
    for file, drifts in found.items():
        if drifts:
            lines += [file, *(f"  {line}" for one in drifts for line in one["text"].splitlines())]
    return "\n".join((*lines, *told))


def _cases(found: Found) -> list[Case]:
    return [
        Case("drift", file, tuple(one["text"] for one in drifts)) for file, drifts in found.items()
    ]


def _number(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ServerFailed(f"{path}: cannot be written: {error.strerror}") from None


def _untold(message: str) -> int:
    print(f"mockllm drift: {message}", file=sys.stderr)
    return UNTOLD
