"""After a change in the admin, a message says which steps of other scenarios are never reached any
more, or are reached again."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.html import format_html, format_html_join

from scenarios_app.admin.pages import scenario_urls
from scenarios_app.catalog import catalog
from scenarios_app.catalog.lint import shadowed_steps
from scenarios_app.catalog.snapshot import Snapshot

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)

MAX_SHOWN = 3


def reports_effects(view: Callable[P, R]) -> Callable[P, R]:
    """Return the view with a message about what a post changed in scenarios that it did not."""

    @wraps(view)
    def reporting_view(*args: P.args, **kwargs: P.kwargs) -> R:
        request = next(arg for arg in args if isinstance(arg, HttpRequest))
        before = catalog.snapshot() if request.method == "POST" else None
        response = view(*args, **kwargs)
        if before and (after := catalog.snapshot()) is not before:
            _report(request, [*_effects(before, after)])
        return response

    return reporting_view


def _effects(before: Snapshot, after: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield each effect on a scenario that is in both snapshots unchanged: its name, and a text."""
    old, new = before.index.by_name, after.index.by_name
    hidden_before, hidden = shadowed_steps(before), shadowed_steps(after)
    for name, step in sorted(hidden_before.keys() ^ hidden.keys()):
        if name not in old or name not in new or old[name] != new[name]:
            continue
        if cause := hidden.get((name, step)):
            text = f"step {step} is now never reached: step {cause[1]} of {cause[0]} answers first"
            yield name, text
        else:
            yield name, f"step {step} can be reached again"


def _report(request: HttpRequest, effects: list[tuple[str, str]]) -> None:
    """Add a message with the first effects, if there are any."""
    if not effects:
        return
    urls = scenario_urls({name for name, _ in effects})
    lines = format_html_join(
        "",
        '<br><a class="sc-link" href="{}">{}</a>, {}',
        ((urls.get(name, ""), name, text) for name, text in effects[:MAX_SHOWN]),
    )
    left = len(effects) - MAX_SHOWN
    more = format_html("<br>and {} more", left) if left > 0 else ""
    text = '<span class="sc-effects">This changes other scenarios:{}{}</span>'
    messages.warning(request, format_html(text, lines, more))
