"""Draws the costs of an answer, ours beside each peer's, as bars in an SVG."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

# Units of the drawing: its width, that of the names at the left and of the numbers at the right.
WIDTH, NAMES_WIDTH, NUMBERS_WIDTH = 800, 365, 90
BAR, GAP, TOP, BOTTOM = 14, 14, 44, 34
# The ends of the axis, in microseconds. A bar of MIN_COST or less would have no width.
MIN_COST, MAX_COST = 20.0, 10_000.0
TICKS = (20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
# Visible on white and on black; labels tell them apart without colours.
THEIRS, OURS, INK = "#8a8f98", "#1f7a5c", "#6b7280"
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
    'aria-label="{title}" font-family="system-ui, sans-serif" font-size="12">'
)


@dataclass(frozen=True)
class Pair:
    """The CPU microseconds of an answer of a peer and of our server."""

    name: str
    theirs: float
    ours: float


def write(path: Path, title: str, pairs: Sequence[Pair]) -> None:
    path.write_text("\n".join(_lines(title, pairs)) + "\n", encoding="utf-8")


def _lines(title: str, pairs: Sequence[Pair]) -> Iterator[str]:
    height = TOP + len(pairs) * (2 * BAR + GAP) + BOTTOM
    yield HEAD.format(width=WIDTH, height=height, title=escape(title, {'"': "&quot;"}))
    yield _text(0, 16, title, weight="bold")
    for tick in TICKS:
        x = _x(tick)
        yield f'<path d="M{x:.0f} {TOP - 8}V{height - BOTTOM}" stroke="{INK}" opacity=".3"/>'
        yield _text(x, height - BOTTOM + 16, f"{tick:,}", anchor="middle")
    for place, pair in enumerate(pairs):
        y = TOP + place * (2 * BAR + GAP)
        yield _text(0, y + BAR + 4, pair.name)
        yield from _bar(y, pair.theirs, THEIRS, "theirs")
        yield from _bar(y + BAR, pair.ours, OURS, "ours")
    yield "</svg>"


def _bar(y: float, cost: float, colour: str, whose: str) -> Iterator[str]:
    width = _x(cost) - NAMES_WIDTH
    size = f'width="{width:.0f}" height="{BAR - 2}"'
    yield f'<rect x="{NAMES_WIDTH}" y="{y}" {size} fill="{colour}"/>'
    yield _text(NAMES_WIDTH + width + 6, y + BAR - 3, f"{whose} {cost:,.0f}")


def _x(cost: float) -> float:
    """Return the place of a cost on the logarithmic axis."""
    share = math.log(min(max(cost, MIN_COST), MAX_COST) / MIN_COST) / math.log(MAX_COST / MIN_COST)
    return NAMES_WIDTH + share * (WIDTH - NAMES_WIDTH - NUMBERS_WIDTH)


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" fill="{INK}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )
