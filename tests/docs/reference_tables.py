"""Tables of the reference: settings, commands, faults and providers' routes, from the code."""

import re
from argparse import SUPPRESS, Action, BooleanOptionalAction
from collections.abc import Iterator, Mapping
from textwrap import wrap

from django.core.management import BaseCommand, get_commands, load_command_class

from mockllm_site.command_line import PACKAGES
from mockllm_site.kit.settings_table import SETTINGS, ProdSettings, Settings
from scenarios_app.engine.producing.faults import FAULT_KINDS, FaultEffect, FaultKind
from scenarios_app.wire.base import Endpoint
from scenarios_app.wire.openai.dialects.rows import DIALECTS, OPENAI
from scenarios_app.wire.registry import wires
from tests.docs.document_tables import table, with_default

STRIKES: Mapping[FaultEffect, str] = {
    "error": "an HTTP error",
    "silence": "no byte; the connection is closed",
    "malformed": "an unreadable body",
    "cut": "breaks off; the connection is cut",
    "end": "breaks off and ends as if it were whole",
    "hold": "silence for `hold_ms`, then goes on",
    "malformed_event": "ends with an unreadable event",
    "error_event": "ends with the provider's error event",
}
EXAMPLE_HEAD = """\
# Every setting with its default; `make docs` writes this file. Copy it to `.env` in the working
# directory, or export the variables; the environment wins over the file. Empty: the default."""
# With fewer, it is easier to read them twice than to look them up.
MIN_SHARED_ARGUMENTS = 5
WRAP_OPTIONS: Mapping[str, bool] = {"break_long_words": False, "break_on_hyphens": False}


def settings_table() -> str:
    """Return the table of every setting with its type, default and meaning."""
    rows = []
    for name, setting in SETTINGS.items():
        default = f"`{text}`" if (text := _default(name)) else ""
        # An error says "a whole number from 1 up".
        values = setting.kind.expected.removeprefix("a ").removesuffix(" up")
        rows.append((f"`{name}`", with_default(values, default), setting.meaning))
    return table(("setting", "holds", "meaning"), rows)


def _default(name: str) -> str:
    """Return the default as text; empty if there is none or prod has another."""
    value = getattr(Settings(), name)
    if value is None or value != getattr(ProdSettings(), name):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


def example_file() -> str:
    """Return the text of `.env.example`: every setting below its meaning."""
    blocks = [EXAMPLE_HEAD]
    for name, setting in SETTINGS.items():
        lines = wrap(
            f"{setting.meaning} Holds {setting.kind.expected}.",
            98,
            initial_indent="# ",
            subsequent_indent="# ",
            **WRAP_OPTIONS,
        )
        blocks.append("\n".join([*lines, f"{name}={_default(name)}"]))
    return "\n\n".join(blocks) + "\n"


def commands_list() -> str:
    """Return a section for each command of this project, with a list of its arguments."""
    meanings = {
        name: {_argument_syntax(item): _meaning(item) for item in arguments(command, name)}
        for name, command in our_commands().items()
    }
    sections = []
    for name, command in our_commands().items():
        other, shared = _shared_arguments(name, meanings)
        lines = [
            f"- `{syntax}`: {meaning}".removesuffix(": ").removesuffix(".") + "."
            for syntax, meaning in meanings[name].items()
            if syntax not in shared
        ]
        if shared:
            options = ", ".join(f"`{syntax}`" for syntax in shared)
            lines.append(f"- As for [{other}](#{other}): {options}.")
        text = f"### {name}\n\n{_plain(command.help)}"
        sections.append("\n\n".join([text, "\n".join(lines)]) if lines else text)
    return "\n\n".join(sections)


def _shared_arguments(name: str, meanings: Mapping[str, dict[str, str]]) -> tuple[str, list[str]]:
    """Return the earlier command with most arguments in common, and these; none if few."""
    names = list(meanings)
    earlier = {
        other: [
            syntax
            for syntax, meaning in meanings[name].items()
            if meanings[other].get(syntax) == meaning
        ]
        for other in names[: names.index(name)]
    }
    other = max(earlier, key=lambda key: len(earlier[key]), default="")
    shared = earlier.get(other, [])
    return (other, shared) if len(shared) >= MIN_SHARED_ARGUMENTS else ("", [])


def arguments(command: BaseCommand, name: str) -> list[Action]:
    """Return a command's arguments, without those of the class of Django that it extends."""
    django_class = next(
        base for base in type(command).__mro__ if base.__module__.startswith("django.")
    )
    django_arguments = {
        action.dest for action in django_class().create_parser("mockllm", name)._actions
    }
    return [
        action
        for action in command.create_parser("mockllm", name)._actions
        if action.dest not in django_arguments and action.help != SUPPRESS
    ]


def our_commands() -> dict[str, BaseCommand]:
    """Return the commands of this project by name."""
    apps = {name: str(app) for name, app in sorted(get_commands().items())}
    return {
        name: load_command_class(app, name)
        for name, app in apps.items()
        if app.startswith(PACKAGES)
    }


def _argument_syntax(action: Action) -> str:
    """Return an argument as it is typed on the command line."""
    name = action.option_strings[-1] if action.option_strings else ""
    if isinstance(action, BooleanOptionalAction):
        name = ", ".join(action.option_strings)
    value = action.metavar or action.dest.upper()
    value_text = "" if action.nargs == 0 else value if isinstance(value, str) else " ".join(value)
    if action.nargs in ("*", "+") and not value_text.endswith("…"):
        value_text += " …"
    return f"{name} {value_text}".strip()


def _meaning(action: Action) -> str:
    """Return an argument's help with its default; the port depends on the mode."""
    default = "8000, in test mode 5099" if action.dest == "port" else action.default
    return _plain((action.help or "") % {"default": default})


def _plain(text: str) -> str:
    # Names in capitals with underscores are variables.
    return re.sub(r"\$?\b([A-Z]+_[A-Z_]+)\b", r"`\g<0>`", " ".join(text.split()))


def strikes_table() -> str:
    """Return the table of what each fault does to streamed and complete responses."""
    rows = [
        (
            f"`{kind.name}`",
            STRIKES[kind.stream],
            "the same" if kind.whole == kind.stream else STRIKES[kind.whole],
            _status(kind),
        )
        for kind in FAULT_KINDS.values()
    ]
    return table(("kind", "a streamed answer", "a whole answer", "status"), rows)


def _status(kind: FaultKind) -> str:
    if "status" in kind.required:
        return "as it says"
    if kind.stream == "silence":
        return ""
    statuses = ["200"] if kind.stream != "error" else []
    return ", ".join([*statuses, *([str(kind.status)] if kind.whole == "error" else [])])


def providers_table() -> str:
    """Return the table of provider routes by canonical path; dialects have OpenAI's routes."""
    rows: dict[tuple[str, str, bool], list[str]] = {}
    for title, endpoint in provider_routes():
        route = (title, endpoint.canonical, endpoint.render is not None)
        methods = rows.setdefault(route, [])
        if endpoint.method not in methods:
            methods.append(endpoint.method)
    table_rows = [
        (title, f"`{path}`", ", ".join(methods), "yes" if is_scripted else "")
        for (title, path, is_scripted), methods in rows.items()
    ]
    return table(("provider", "route", "methods", "scripted"), table_rows)


def provider_routes() -> Iterator[tuple[str, Endpoint]]:
    """Yield every endpoint with the title of its wire."""
    dialects = {row.title for row in DIALECTS.values() if row is not OPENAI}
    for wire in reversed(wires()):
        if wire.title not in dialects:
            for endpoint in wire.endpoints:
                yield wire.title, endpoint
