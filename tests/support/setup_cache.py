"""What every test would do anew, for longer than the rest of a short test takes, done once or not
at all: reading the machine's certificates, looking at every static file, and keeping the context of
every widget of a page."""

import ssl
from collections.abc import Callable
from typing import Any

import certifi
from django.template import Context, Template
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

# A page of the editor has a thousand of these, and no test looks at one.
WIDGETS = ("django/forms/", "unfold/helpers/")
# Where Linux and macOS keep certificates; what a test made lies elsewhere.
MACHINES = ("/etc/", "/usr/", "/opt/homebrew/etc/", certifi.where())

_load = ssl.SSLContext.load_verify_locations
_find = WhiteNoiseMiddleware.add_files_from_finders
_files: dict[str, StaticFile] = {}


def install() -> None:
    ssl.SSLContext.load_verify_locations = load_but_machines  # type: ignore[method-assign]
    WhiteNoiseMiddleware.add_files_from_finders = find_once
    # Django's own for tests, which tells the test client of each template that is rendered.
    Template._render = told_but_widgets(Template._render)


def told_but_widgets(told: Callable[[Template, Context], str]) -> Callable[..., str]:
    def render(template: Template, context: Context) -> str:
        if str(template.name).startswith(WIDGETS):
            return template.nodelist.render(context)
        return told(template, context)

    return render


def load_but_machines(
    context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None
) -> None:
    """Each client has a context of its own. No test asks a host that the machine's certificates
    could vouch for, and one that did would be refused."""
    if cadata is not None or not str(cafile or capath).startswith(MACHINES):
        _load(context, cafile, capath, cadata)


def find_once(middleware: WhiteNoiseMiddleware) -> None:
    """Each of Django's test clients loads the middleware anew."""
    if not _files:
        _find(middleware)
        _files.update(middleware.files)
    middleware.files |= _files
