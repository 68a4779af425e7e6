"""Coverage as one HTML page, without a script and with nothing to load."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: left }
td.number, th.number { text-align: right }
tr.missed td:first-child::before { content: "✗ "; color: #c22 }
tr.served td:first-child::before { content: "✓ "; color: #187a2f }
:root { color-scheme: light dark }
"""


def coverage_page(found: Mapping[str, Any]) -> str:
    """The page of what `GET /control/coverage` answers."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f"<title>mockllm coverage: {found['percent']:g} %</title>"
    yield f"<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>Coverage: {found['percent']:g} %</h1>"
    yield (
        f"<p>{found['served']:,} of {found['steps']:,} steps answered, {found['triggered']:,} of "
        f"{found['faults']:,} faults struck, in {found['requests']:,} requests since "
        f"{escape(str(found['since']))}.</p>"
    )
    if not found["complete"]:
        yield "<p>Some requests had left the journal unseen: conditions may have held in them.</p>"
    for one in found["scenarios"]:
        yield from _scenario(one)
    yield "</body>\n</html>"


def _scenario(one: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2>{escape(one['scenario'])}</h2>\n<table>"
    yield '<tr><th>Step</th><th class="number">Answers</th><th>Never</th></tr>'
    for step in one["steps"]:
        state = "served" if step["served"] else "missed"
        never = "<br>".join(escape(text) for text in missed(step))
        yield (
            f'<tr class="{state}"><td>{escape(step["step"])}</td>'
            f'<td class="number">{step["served"]:,}</td><td>{never}</td></tr>'
        )
    yield "</table>"


def missed(step: Mapping[str, Any]) -> Iterator[str]:
    """What of a step the run has not come by."""
    for never in step["never_true"]:
        yield f"never true: {never['field']}: {never['expected']}"
    for fault in step["faults"]:
        if not fault["triggered"]:
            yield f"never triggered: {fault['kind']} ({fault['place']})"
