"""Caches or skips slow work that every test would repeat: loading the machine's certificates,
listing static files, and copying the context of each rendered widget."""

import ssl
from collections.abc import Callable
from typing import Any

import certifi
from django.template import Context, Template
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

# An editor page renders a thousand of these templates, and no test reads their contexts.
WIDGETS = ("django/forms/", "unfold/helpers/")
# Certificate folders of Linux and macOS; certificates that a test creates are elsewhere.
SYSTEM_CERTIFICATES = ("/etc/", "/usr/", "/opt/homebrew/etc/", certifi.where())

_load = ssl.SSLContext.load_verify_locations
_find = WhiteNoiseMiddleware.add_files_from_finders
_files: dict[str, StaticFile] = {}


def install() -> None:
    ssl.SSLContext.load_verify_locations = load_except_system
    WhiteNoiseMiddleware.add_files_from_finders = find_static_files_once
    # Django's test runner sends a signal with a copy of the context for each template.
    Template._render = render_without_widget_signal(Template._render)


def render_without_widget_signal(
    render_with_signal: Callable[[Template, Context], str],
) -> Callable[..., str]:
    def render(template: Template, context: Context) -> str:
        if str(template.name).startswith(WIDGETS):
            return template.nodelist.render(context)
        return render_with_signal(template, context)

    return render


def load_except_system(
    context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None
) -> None:
    """Skip system certificates: no test connects to a public host, and one that did would fail."""
    if cadata is not None or not str(cafile or capath).startswith(SYSTEM_CERTIFICATES):
        _load(context, cafile, capath, cadata)


def find_static_files_once(middleware: WhiteNoiseMiddleware) -> None:
    """Reuse the list, since every Django test client loads the middleware again."""
    if not _files:
        _find(middleware)
        _files.update(middleware.files)
    middleware.files |= _files
