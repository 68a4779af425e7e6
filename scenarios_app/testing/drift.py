"""`mockllm drift`: compares current requests or responses with those in cassettes."""

import asyncio
import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any, Final

from mockllm_site.kit.parsers import OneLineParser
from scenarios_app.engine.document.regular_files import read_regular_file
from scenarios_app.recording.drift import drift_json
from scenarios_app.recording.upstreams import read_upstreams
from scenarios_app.testing.control import ServerFailed, controlled_server
from scenarios_app.testing.documents import to_documents
from scenarios_app.testing.record import PATHS_SETTING, UPSTREAMS_SETTING, upstream_settings
from scenarios_app.testing.report import write_file
from scenarios_app.testing.run import (
    CANNOT_START,
    CannotRun,
    parse_before_command,
    refuse,
    run_command,
)
from scenarios_app.testing.variables import real_keys
from scenarios_app.verdict.reports import Case, junit

HELP = (
    "Compares cassettes with today's requests or responses. "
    "The exit code is 0 without drift, 1 with drift, 2 if the check could not be run. "
    + CANNOT_START
)
DRIFTED: Final = 1
NOT_COMPARED: Final = 2
# Drifts by cassette file.
DriftsByFile = dict[str, list[dict[str, Any]]]


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("cassettes", nargs="+", metavar="CASSETTE", help="a cassette, or a folder of them")
    add(
        "--report",
        metavar="FILE",
        help="what pytest wrote with --mockllm-report=FILE.json, in place of a command",
    )
    add(
        "--live",
        action="store_true",
        help="send the requests to the providers again, and compare the structure of the answers",
    )
    add("--json", action="store_true", help="JSON in place of text")
    add("--junit", metavar="FILE", help="write JUnit XML there as well")
    parser.epilog = (
        "After --, the command whose requests are compared, such as pytest. Only the cassettes "
        "answer it; its output goes to standard error."
    )


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm drift` with these arguments; return its exit code."""
    parser = OneLineParser(prog="mockllm drift", description=HELP)
    add_arguments(parser)
    return drift(*parse_before_command(parser, arguments))


def drift(options: Namespace, command: Sequence[str]) -> int:
    """Compare cassettes with a command's requests, a report or live responses; print the drifts.
    Return 0, DRIFTED, or NOT_COMPARED if nothing could be compared."""
    if sum((bool(command), bool(options.report), bool(options.live))) != 1:
        reason = "expected one of: a command after --, --report FILE, --live"
        return refuse("drift", reason, code=NOT_COMPARED)
    try:
        files = {str(file): _read_cassette(file) for file in _cassette_files(options.cassettes)}
        notes: list[str] = []
        if options.live:
            drifts_by_file = _live_drifts(files)
        elif options.report:
            drifts_by_file, notes = _drifts_in_report(options.report, files)
        else:
            drifts_by_file, notes = _drifts_of_command(command, files)
        text = _report_text(drifts_by_file, notes)
        if options.junit:
            cases = starmap(_junit_case, drifts_by_file.items())
            write_file(options.junit, junit("mockllm drift", cases))
    except (CannotRun, ServerFailed) as error:
        return refuse("drift", str(error.args[-1]), code=NOT_COMPARED)
    drifted = any(drifts_by_file.values())
    cassettes = [{"cassette": file, "drift": drifts} for file, drifts in drifts_by_file.items()]
    body = {"drifted": drifted, "cassettes": cassettes, "notes": notes}
    print(json.dumps(body, indent=1, ensure_ascii=False) if options.json else text)
    return DRIFTED if drifted else 0


def _drifts_of_command(
    command: Sequence[str], files: Mapping[str, dict[str, Any]]
) -> tuple[DriftsByFile, list[str]]:
    """Return the drifts and notes of a command; ServerFailed if it fails without drift."""
    # Cassettes in different folders may have equal names.
    documents = [{**document, "name": file} for file, document in files.items()]
    with controlled_server() as control:
        control.send("PUT", "recording", {"mode": "none", "cassettes": documents})
        variables = {"MOCKLLM_RECORD": "none", "MOCKLLM_DRIFT": "1"}
        code = run_command(command, control.base_url, variables=variables, output=sys.stderr)
        ended = control.send_request("DELETE", "recording")
        if ended.status_code == 404:
            # Tests have ended this replay and loaded their own cassettes.
            reports = control.send("GET", "drift")["recordings"]
            of_tests = (report for report in reports if report["session"])
            drifts_by_file, notes = _drifts_of_tests(of_tests, files)
        else:
            body = control.read_json(ended)
            drifts_by_file, notes = _group_by_file(files, body["drift"]), _unreached_notes(body)
    if code and not any(drifts_by_file.values()):
        raise ServerFailed(f"the command failed (exit code {code}), and not for what drifted")
    return drifts_by_file, notes


def _drifts_in_report(
    report: str, files: Mapping[str, dict[str, Any]]
) -> tuple[DriftsByFile, list[str]]:
    """Return the drifts in a JSON file of `--mockllm-report`, and notes; raises ServerFailed."""
    try:
        tests = json.loads(read_regular_file(report))["tests"]
        tests = [test for test in tests if test.get("cassette")]
        reports = [{**test, "cassettes": [test["cassette"]]} for test in tests]
        return _drifts_of_tests(reports, files)
    except OSError as error:
        raise ServerFailed(f"{report}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ServerFailed(f"{report}: expected what --mockllm-report=FILE.json writes") from None


def _drifts_of_tests(
    reports: Iterable[Mapping[str, Any]], files: Mapping[str, dict[str, Any]]
) -> tuple[DriftsByFile, list[str]]:
    """Return the drifts that tests found in these files, and notes."""
    drifts_by_file: DriftsByFile = {}
    notes: list[str] = []
    for report in reports:
        for label in report["cassettes"]:
            if (file := _find_file(label, files)) is not None:
                drifts_by_file.setdefault(file, []).extend(report["drift"])
                notes += _unreached_notes(report, file)
    notes += [f"{file}: no test used it" for file in files if file not in drifts_by_file]
    return {file: drifts_by_file.get(file, []) for file in files}, notes


def _find_file(label: str, files: Mapping[str, dict[str, Any]]) -> str | None:
    """Return the cassette file with this scenario name or end of its path, or None."""
    for file, document in files.items():
        if document["name"] == label or Path(file).resolve().as_posix().endswith(f"/{label}"):
            return file
    return None


def _live_drifts(files: Mapping[str, dict[str, Any]]) -> DriftsByFile:
    """Return the drifts between cassettes and the real providers; needs keys, sends requests."""
    # Imported here because only this mode sends requests to providers.
    from scenarios_app.testing.live import live_drift

    settings = upstream_settings(os.environ)
    upstreams = read_upstreams(settings[UPSTREAMS_SETTING].split(","))
    documents = [{**document, "name": file} for file, document in files.items()]
    keys = real_keys(os.environ)
    paths = [path for path in settings.get(PATHS_SETTING, "").split(",") if path]
    drifted = asyncio.run(live_drift(documents, upstreams=upstreams, keys=keys, paths=paths))
    return _group_by_file(files, map(drift_json, drifted))


def _group_by_file(files: Iterable[str], drifts: Iterable[dict[str, Any]]) -> DriftsByFile:
    """Return the drifts by their cassette; each file has a list, which may be empty."""
    drifts_by_file: DriftsByFile = {file: [] for file in files}
    for drift in drifts:
        drifts_by_file.setdefault(drift["cassette"], []).append(drift)
    return drifts_by_file


def _unreached_notes(body: Mapping[str, Any], file: str = "") -> list[str]:
    """Return a note for each step that was not requested after an earlier drift."""
    after = "not reached after a drift"
    steps = [name.rpartition("/") for name in body["unreached"]]
    return [f"{file or cassette}, step {step}: {after}" for cassette, _, step in steps]


def _cassette_files(arguments: Iterable[str]) -> list[Path]:
    """Return these files, and the `*.json` of folders; ServerFailed for a missing path or none."""
    paths: dict[Path, None] = {}
    for text in arguments:
        path = Path(text)
        if not path.exists():
            raise ServerFailed(f"{path}: there is no such cassette")
        paths |= dict.fromkeys(sorted(path.rglob("*.json")) if path.is_dir() else [path])
    cassettes = [path for path in paths if not path.name.startswith(".")]
    if not cassettes:
        raise ServerFailed(f"{', '.join(arguments)}: there is no cassette in it")
    return cassettes


def _read_cassette(file: Path) -> dict[str, Any]:
    """Return the one scenario of a file; raises ServerFailed for none or several."""
    documents = to_documents([file])
    if len(documents) != 1:
        raise ServerFailed(f"{file}: expected one scenario, got {len(documents)}")
    return documents[0]


def _report_text(drifts_by_file: DriftsByFile, notes: Iterable[str]) -> str:
    drifted = sum(bool(drifts) for drifts in drifts_by_file.values())
    count = len(drifts_by_file)
    lines = [f"{count} cassette{'' if count == 1 else 's'}, {drifted or 'none'} drifted"]
    for file, drifts in drifts_by_file.items():
        if drifts:
            lines += [
                file,
                *(f"  {line}" for drift in drifts for line in drift["text"].splitlines()),
            ]
    return "\n".join((*lines, *notes))


def _junit_case(file: str, drifts: Iterable[Mapping[str, Any]]) -> Case:
    return Case("drift", file, tuple(drift["text"] for drift in drifts))
