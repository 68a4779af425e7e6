"""The plot of the benchmarks shows a bar for each of its numbers."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_bar_of_the_plot_has_a_width() -> None:
    svg = (ROOT / "docs" / "benchmarks.svg").read_text(encoding="utf-8")
    widths = [int(width) for width in re.findall(r'<rect [^>]*width="(\d+)"', svg)]
    assert len(widths) == len(re.findall(r">(?:theirs|ours) [\d,]+<", svg)) > 0
    assert min(widths) > 0
