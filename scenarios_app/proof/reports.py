"""The matrix of a fault sweep as text, JSON, JUnit XML and an HTML page."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from scenarios_app.proof.experiment import CellResult, RepeatCommand, Sweep
from scenarios_app.proof.outcome import OUTCOMES
from scenarios_app.proof.plan import Cell, Place
from scenarios_app.proof.sweep import last_lines
from scenarios_app.verdict.fault_kinds import KINDS
from scenarios_app.verdict.reports import Case, junit
from scenarios_app.verdict.survival import split_step

SIGNS: Mapping[str, str] = {
    "survived": "ok",
    "loud": "loud",
    "silent": "SILENT",
    "wrong": "WRONG",
    "hung": "HUNG",
    "multiplied": "MULTI",
    "unreached": "?",
}
LEFT_OUT = "·"
FAIL_ON: tuple[str, ...] = ("silent", "wrong", "hung", "multiplied")
_COLUMN = max(map(len, SIGNS.values())) + 2
# Maximum number of answers in one table.
MAX_COLUMNS = 8
MAX_SHOWN_CHARS = 20_000

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
table { border-collapse: collapse } th, td { border: 1px solid #8886; padding: .3rem .6rem }
td.survived { background: #187a2f33 } td.loud { background: #187a2f15 }
td.silent, td.wrong, td.hung, td.multiplied { background: #c223; font-weight: 600 }
pre { overflow-x: auto; white-space: pre-wrap; border-left: 3px solid #8886; padding-left: 1rem }
:root { color-scheme: light dark }
"""


def failed_cells(sweep: Sweep, fail_on: Sequence[str]) -> list[CellResult]:
    """Return the results with an outcome in `fail_on`, in the order of the matrix."""
    return [result for result in _in_matrix_order(sweep) if result.judgement.outcome in fail_on]


def text_report(sweep: Sweep, fail_on: Sequence[str], repeat_command: RepeatCommand) -> str:
    """Return the matrix (rows are kinds of trouble, columns the answers) and a paragraph for each
    cell with an outcome in `fail_on`; `repeat_command` returns the command for one cell."""
    lines = [*_matrix_lines(sweep), "", _summarize(sweep)]
    for result in failed_cells(sweep, fail_on):
        lines += [
            "",
            f"{result.cell.name}: {result.judgement.outcome}",
            f"  {result.cell.kind.label} at answer {result.cell.place.number}, "
            f"step {result.cell.place.step}",
            f"  {result.judgement.reason}",
            f"  again: {repeat_command(result.cell)}",
        ]
    return "\n".join(lines)


def _matrix_lines(sweep: Sweep) -> Iterator[str]:
    """Yield the matrix: a row for each kind, a column for each place, in parts of MAX_COLUMNS."""
    places = _sorted_places(sweep)
    kinds = [kind for kind in KINDS if any(cell.kind is kind for cell in sweep.cells)]
    width = max(len(kind.label) for kind in kinds) + 2
    several = len({place.session for place in places}) > 1
    cells = {(cell.kind, cell.place): cell for cell in sweep.cells}
    for start in range(0, len(places), MAX_COLUMNS):
        group = places[start : start + MAX_COLUMNS]
        for number, place in enumerate(group, start + 1):
            session = f", session {place.session}" if several else ""
            yield f"[{number}] answer {place.number}: {place.step}{session}"
        heads = (f"[{number}]" for number in range(start + 1, start + len(group) + 1))
        yield (" " * width + "".join(head.ljust(_COLUMN) for head in heads)).rstrip()
        for kind in kinds:
            signs = (_cell_sign(sweep, cells.get((kind, place))) for place in group)
            row = kind.label.ljust(width) + "".join(sign.ljust(_COLUMN) for sign in signs)
            yield row.rstrip()


def _cell_sign(sweep: Sweep, cell: Cell | None) -> str:
    """Return the sign of a cell's outcome, LEFT_OUT without a result, or "" without a cell."""
    if cell is None:
        return ""
    result = sweep.results.get(cell)
    return LEFT_OUT if result is None else SIGNS[result.judgement.outcome]


def _summarize(sweep: Sweep) -> str:
    """Return the number of cells by outcome, and why some were left out."""
    counts = Counter(result.judgement.outcome for result in sweep.results.values())
    words = [f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome]]
    cells = f"{len(sweep.results)} of {len(sweep.cells)} cells: {', '.join(words) or 'none run'}"
    if not sweep.left_out:
        return cells
    return f"{cells}\n{sweep.left_out} cells ({LEFT_OUT}) were left out: {sweep.left_out_because}"


def json_report(sweep: Sweep, fail_on: Sequence[str], repeat_command: RepeatCommand) -> str:
    """Return the sweep as JSON; only `seconds` differ between equal sweeps."""
    answered = {split_step(cell.place.step, sweep.versions)[0] for cell in sweep.cells} - {""}
    body = {
        "seed": sweep.seed,
        "passed": not failed_cells(sweep, fail_on),
        "clean": dict(sweep.clean),
        "versions": {name: sweep.versions[name] for name in sorted(answered)},
        "cells": [_cell_body(result, repeat_command) for result in _in_matrix_order(sweep)],
        "skipped": sweep.left_out,
    }
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def _cell_body(result: CellResult, repeat_command: RepeatCommand) -> dict[str, Any]:
    cell, outcome = result.cell, result.judgement.outcome
    return {
        "request": cell.place.number,
        "session": cell.place.session,
        "step": cell.place.step,
        "fault": cell.kind.label,
        "kind": cell.kind.name,
        "outcome": {"loud": "failed_loudly", "silent": "failed_silently"}.get(outcome, outcome),
        "exit": result.program.code,
        "seconds": round(result.program.seconds, 3),
        "why": result.judgement.reason,
        "repeat": repeat_command(cell),
    }


def junit_report(sweep: Sweep, fail_on: Sequence[str], repeat_command: RepeatCommand) -> str:
    """Return a JUnit case for each cell that was run; those in `fail_on` fail. `repeat_command` is
    not used."""
    cases = []
    for run in _in_matrix_order(sweep):
        reason = f"{run.judgement.outcome}: {run.judgement.reason}"
        reasons = (reason,) if run.judgement.outcome in fail_on else ()
        cases.append(Case(run.cell.place.step, run.cell.name, reasons))
    return junit("mockllm torture", cases)


def html_report(sweep: Sweep, fail_on: Sequence[str], repeat_command: RepeatCommand) -> str:
    """Return a page with the matrix (rows are kinds of trouble, columns the answers), and output
    and requests of each cell. `fail_on` is not used."""
    places = _sorted_places(sweep)
    cells = {(cell.kind, cell.place): cell for cell in sweep.cells}
    several = len({place.session for place in places}) > 1
    heads = "".join(
        f"<th>{place.number}<br>{escape(place.step)}"
        f"{f'<br>{escape(place.session)}' if several else ''}</th>"
        for place in places
    )
    rows = "".join(
        f"<tr><th>{escape(kind.label)}</th>"
        + "".join(_html_cell(sweep, cells.get((kind, place))) for place in places)
        + "</tr>"
        for kind in KINDS
        if any(cell.kind is kind for cell in sweep.cells)
    )
    details = "".join(_html_details(run, repeat_command) for run in _in_matrix_order(sweep))
    meanings = "".join(f"<li><b>{name}</b>: {text}</li>" for name, text in OUTCOMES.items())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>mockllm torture</title>'
        f"<style>{STYLE}</style><h1>mockllm torture</h1>"
        f"<p>{escape(_summarize(sweep))}</p>"
        f"<table><tr><th>trouble</th>{heads}</tr>{rows}</table>"
        f"<ul>{meanings}</ul>{details}</html>\n"
    )


def _html_cell(sweep: Sweep, cell: Cell | None) -> str:
    if cell is None:
        return "<td></td>"
    result = sweep.results.get(cell)
    if result is None:
        return f"<td>{LEFT_OUT}</td>"
    outcome = result.judgement.outcome
    return f'<td class="{outcome}"><a href="#{escape(cell.name)}">{outcome}</a></td>'


def _html_details(result: CellResult, repeat_command: RepeatCommand) -> str:
    """Return the details of a result: why, the transcript, and how to run it again."""
    requests = "".join(
        f"<li>{escape(entry['request']['method'])} {escape(entry['path'])}: "
        f"{entry['status']}, {escape(entry['outcome'])}"
        f"<pre>{escape(_shorten(entry['request']['body']))}</pre>"
        f"<pre>{escape(_shorten(entry['response']['body']))}</pre></li>"
        for entry in result.transcript
    )
    return (
        f'<h2 id="{escape(result.cell.name)}">{escape(result.cell.name)}: '
        f"{result.judgement.outcome}</h2><p>{escape(result.judgement.reason)}</p>"
        f"<pre>{escape(repeat_command(result.cell))}</pre>"
        f"<details><summary>Output and requests</summary>"
        f"<pre>{escape(last_lines(result.program.output, 60))}</pre><ol>{requests}</ol></details>"
    )


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"


def _in_matrix_order(sweep: Sweep) -> list[CellResult]:
    """Return the results by session, place and kind of fault, as the matrix shows them."""
    names = [kind.name for kind in KINDS]

    def sort_key(result: CellResult) -> tuple[str, int, int]:
        place = result.cell.place
        return place.session, place.number, names.index(result.cell.kind.name)

    return sorted(sweep.results.values(), key=sort_key)


def _sorted_places(sweep: Sweep) -> list[Place]:
    places = {cell.place for cell in sweep.cells}
    return sorted(places, key=lambda place: (place.session, place.number))
