"""A badge with a percentage, as SVG for a README."""

from html import escape

_CHAR_WIDTH = 7
_PADDING = 10
_HEIGHT = 20
_GOOD, _FAIR, _POOR = "#187a2f", "#8a5a00", "#b3261e"


def percent_badge(label: str, percent: float) -> str:
    """Return an SVG badge: green from 90 %, amber from 60 %, red below."""
    colour = _GOOD if percent >= 90 else _FAIR if percent >= 60 else _POOR
    value = f"{percent:g} %"
    left, right = (len(text) * _CHAR_WIDTH + 2 * _PADDING for text in (label, value))
    title = escape(f"{label}: {value}")
    texts = "".join(
        f'<text x="{x + _PADDING}" y="14" textLength="{width - 2 * _PADDING}">{escape(text)}</text>'
        for text, x, width in ((label, 0, left), (value, left, right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" '
        f'role="img" aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left}" height="{_HEIGHT}" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana, sans-serif" font-size="11">{texts}</g></svg>\n'
    )
