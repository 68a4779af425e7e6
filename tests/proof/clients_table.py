"""`make sweeps`: sweeps the clients that are installed and writes `docs/torture-sdks.md`.

A client whose report is in `build/sweeps` is not swept again.
"""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from scenarios_app.proof.reports import SIGNS
from scenarios_app.verdict.fault_kinds import KINDS
from tests.docs.blocks import ROOT
from tests.proof.clients import FRAMEWORKS, SDKS, SweptClient, sweep_client
from tests.proof.coding_agents import CODING_AGENTS

PAGE = ROOT / "docs" / "torture-sdks.md"
REPORTS = ROOT / "build" / "sweeps"
GROUPS: dict[str, Sequence[SweptClient]] = {
    "sdks": SDKS,
    "frameworks": FRAMEWORKS,
    "agents": CODING_AGENTS,
}
OUTCOMES = {"failed_loudly": "loud", "failed_silently": "silent"}
_TABLE = re.compile(r"(<!-- sweeps: (\w+) -->\n).*?(<!-- /sweeps -->)", re.DOTALL)


def main() -> None:
    REPORTS.mkdir(parents=True, exist_ok=True)
    for client in chain(*GROUPS.values()):
        report = report_path(client)
        if client.is_installed and not report.exists():
            print(client.title, flush=True)
            sweep_client(client, report=report)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(replace_table, text), encoding="utf-8")


def replace_table(match: re.Match[str]) -> str:
    """Return a new table of the page, or the old one if none of its clients is installed."""
    swept_clients = [
        client
        for client in GROUPS[match[2]]
        if client.is_installed and report_path(client).exists()
    ]
    return f"{match[1]}\n{render_table(swept_clients)}\n{match[3]}" if swept_clients else match[0]


def report_path(client: SweptClient) -> Path:
    return REPORTS / f"{client.key}.json"


def render_table(swept_clients: Sequence[SweptClient]) -> str:
    """Return the outcome of each kind of trouble with each client, and their versions."""
    columns = [read_outcomes(report_path(client)) for client in swept_clients]
    lines = [
        "| trouble | " + " | ".join(client.title for client in swept_clients) + " |",
        "| --- |" + " --- |" * len(swept_clients),
    ]
    lines += [
        f"| {kind.label} | " + " | ".join(column.get(kind.name, "") for column in columns) + " |"
        for kind in KINDS
        if any(kind.name in column for column in columns)
    ]
    versions = sorted({name for client in swept_clients for name in client.versions().split(", ")})
    day = max(report_path(client).stat().st_mtime for client in swept_clients)
    date = datetime.fromtimestamp(day, UTC).date().isoformat()
    rows = [f"| {' | '.join(version.split())} |" for version in versions]
    package_lines = ["", f"Run on {date}.", "", "| package | version |", "| --- | --- |"]
    return "\n".join([*lines, *package_lines, *rows, ""])


def read_outcomes(report: Path) -> dict[str, str]:
    """Return the different outcomes of each kind, in the order of the answers."""
    cells = json.loads(report.read_text(encoding="utf-8"))["cells"]
    signs_by_kind: dict[str, dict[str, None]] = {}
    for cell in cells:
        sign = SIGNS[OUTCOMES.get(cell["outcome"], cell["outcome"])]
        signs_by_kind.setdefault(cell["kind"], {})[sign] = None
    return {kind: ", ".join(signs) for kind, signs in signs_by_kind.items()}


if __name__ == "__main__":
    main()
