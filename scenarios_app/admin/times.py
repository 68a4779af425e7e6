"""Points in time as people read them."""

from datetime import datetime

from django.utils.html import format_html
from django.utils.timesince import timesince


def ago(time: datetime) -> str:
    """How long ago, with the time itself behind it."""
    passed = timesince(time, depth=1)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        time.isoformat(),
        f"{time:%Y-%m-%d %H:%M:%S %Z}",
        "just now" if passed.startswith("0") else f"{passed} ago",
    )
