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
        report = report_of(client)
        if client.installed and not report.exists():
            print(client.title, flush=True)
            sweep_client(client, report=report)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(written, text), encoding="utf-8")


def written(old: re.Match[str]) -> str:
    """Return a table of the page anew, or the old one where none of its clients is installed."""
    swept = [one for one in GROUPS[old[2]] if one.installed and report_of(one).exists()]
    return f"{old[1]}\n{table(swept)}\n{old[3]}" if swept else old[0]


def report_of(client: SweptClient) -> Path:
    return REPORTS / f"{client.key}.json"


def table(swept: Sequence[SweptClient]) -> str:
    """Return the outcome of each kind of trouble with each client, and their versions."""
    columns = [outcomes(report_of(client)) for client in swept]
    lines = [
        "| trouble | " + " | ".join(client.title for client in swept) + " |",
        "| --- |" + " --- |" * len(swept),
    ]
    lines += [
        f"| {kind.label} | " + " | ".join(column.get(kind.name, "") for column in columns) + " |"
        for kind in KINDS
        if any(kind.name in column for column in columns)
    ]
    versions = sorted({name for client in swept for name in client.versions().split(", ")})
    day = max(report_of(client).stat().st_mtime for client in swept)
    date = datetime.fromtimestamp(day, UTC).date().isoformat()
    rows = [f"| {' | '.join(version.split())} |" for version in versions]
    head = ["", f"Run on {date}.", "", "| package | version |", "| --- | --- |"]
    return "\n".join([*lines, *head, *rows, ""])


def outcomes(report: Path) -> dict[str, str]:
    """Return the different outcomes of each kind, in the order of the answers."""
    cells = json.loads(report.read_text(encoding="utf-8"))["cells"]
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        sign = SIGNS[OUTCOMES.get(cell["outcome"], cell["outcome"])]
        found.setdefault(cell["kind"], {})[sign] = None
    return {kind: ", ".join(signs) for kind, signs in found.items()}


if __name__ == "__main__":
    main()
