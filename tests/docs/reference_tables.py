"""Tables of the reference: settings, commands, faults and providers' routes, from the code."""

import re
from argparse import SUPPRESS, Action, BooleanOptionalAction
from collections.abc import Iterator, Mapping
from textwrap import wrap

from django.core.management import BaseCommand, get_commands, load_command_class

from mockllm_site.command_line import PACKAGES
from mockllm_site.kit.settings_table import SECTIONS, SETTINGS, Setting
from scenarios_app.engine.producing.faults import FAULT_KINDS, FaultEffect, FaultKind
from scenarios_app.wire.base import Endpoint
from scenarios_app.wire.openai.dialects.rows import DIALECTS, OPENAI
from scenarios_app.wire.registry import wires
from tests.docs.document_tables import table

HOLDS: Mapping[str, str] = {
    "database": "address of a database",
    "flag": "true or false",
    "mode": "`dev`, `test` or `prod`",
    "names": "names, separated by commas",
    "networks": "IP addresses and ranges, separated by commas",
    "number": "number from 0",
    "optional_whole": "whole number from 1",
    "origins": "origins, separated by commas",
    "pairs": "pairs `VARIABLE@HOST`, separated by commas",
    "paths": "paths, separated as in `PATH`",
    "redis": "address of a Redis",
    "text": "text",
    "token": "text",
    "whole": "whole number from 1",
}
STRIKES: Mapping[FaultEffect, str] = {
    "error": "an HTTP error in the provider's envelope",
    "silence": "not one byte; the connection is closed",
    "malformed": "status 200 and a body that no client can read",
    "cut": "breaks off, the connection is cut",
    "end": "breaks off and ends as if it were whole",
    "hold": "goes silent for `hold_ms`, then goes on",
    "malformed_event": "ends with an event that no client can read",
    "error_event": "ends with the provider's error event",
}
EXAMPLE_HEAD = """\
# Every setting with its default; `make docs` writes this file. Copy it to `.env` in the working
# directory, or export the variables; the environment wins over the file. Empty: the default."""
LISTED: Mapping[str, str] = {
    "names": "Separated by commas",
    "networks": "IP addresses and ranges, separated by commas",
    "origins": "Separated by commas",
    "pairs": "Separated by commas",
    "paths": "Separated as in PATH",
}
UNBROKEN: Mapping[str, bool] = {"break_long_words": False, "break_on_hyphens": False}


def settings_table() -> str:
    """Return the table of every setting with its type, default and meaning."""
    rows = [
        (
            f"`{setting.name}`",
            HOLDS[setting.parse.__name__.removeprefix("parse_")],
            _default(setting),
            setting.meaning,
        )
        for setting in SETTINGS.values()
    ]
    return table(("setting", "holds", "default", "meaning"), rows)


def _default(setting: Setting) -> str:
    text = setting.default_text()
    return f"`{text}`" if text else ""


def example_file() -> str:
    """Return the text of `.env.example`: every setting below its meaning."""
    blocks = [EXAMPLE_HEAD]
    for section in SECTIONS:
        lines = []
        for setting in section:
            kind = setting.parse.__name__.removeprefix("parse_")
            choice = "dev, test or prod. " if kind == "mode" else ""
            listed = "" if kind not in LISTED else f" {LISTED[kind]}."
            meaning = f"{choice}{setting.meaning}{listed}"
            lines += wrap(meaning, 98, initial_indent="# ", subsequent_indent="# ", **UNBROKEN)
            lines.append(f"{setting.name}={setting.default_text()}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def commands_list() -> str:
    """Every command of ours under a heading of its own, with the arguments that it adds."""
    told = []
    for name, command in our_commands().items():
        text = f"### {name}\n\n{_plain(command.help)}"
        rows = [(f"`{_written(one)}`", _meaning(one)) for one in arguments(command, name)]
        told.append(f"{text}\n\n{table(('argument', 'meaning'), rows)}" if rows else text)
    return "\n\n".join(told)


def arguments(command: BaseCommand, name: str) -> list[Action]:
    """What a command takes beside what all of Django's do; nothing where Django says it all."""
    if not type(command).add_arguments.__module__.startswith(PACKAGES):
        return []
    usual = {action.dest for action in BaseCommand().create_parser("mockllm", name)._actions}
    parser = command.create_parser("mockllm", name)
    return [one for one in parser._actions if one.dest not in usual and one.help != SUPPRESS]


def our_commands() -> dict[str, BaseCommand]:
    """The commands that this project adds to Django's, by name."""
    apps = {name: str(app) for name, app in sorted(get_commands().items())}
    return {
        name: load_command_class(app, name)
        for name, app in apps.items()
        if app.startswith(PACKAGES)
    }


def _written(action: Action) -> str:
    """As a command's user writes it."""
    named = action.option_strings[-1] if action.option_strings else ""
    if isinstance(action, BooleanOptionalAction):
        named = ", ".join(action.option_strings)
    value = action.metavar or action.dest.upper()
    taken = "" if action.nargs == 0 else value if isinstance(value, str) else " ".join(value)
    if action.nargs in ("*", "+") and not taken.endswith("…"):
        taken += " …"
    return f"{named} {taken}".strip()


def _meaning(action: Action) -> str:
    """Its help, with the default that it has; ports are those of the modes."""
    known = "8000, in test mode 5099" if action.dest == "port" else action.default
    return _plain((action.help or "") % {"default": known})


def _plain(text: str) -> str:
    # Names in capitals with underscores are variables.
    return re.sub(r"\$?\b([A-Z]+_[A-Z_]+)\b", r"`\g<0>`", " ".join(text.split()))


def strikes_table() -> str:
    """What each fault does to a stream and to a whole answer."""
    rows = [
        (f"`{kind.name}`", STRIKES[kind.stream], STRIKES[kind.whole], _status(kind))
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
    """Every route of the providers, by the path that steps name it by; a dialect has OpenAI's."""
    rows: dict[tuple[str, str, bool], list[str]] = {}
    for title, endpoint in provider_routes():
        where = (title, endpoint.canonical, endpoint.render is not None)
        methods = rows.setdefault(where, [])
        if endpoint.method not in methods:
            methods.append(endpoint.method)
    told = [
        (title, f"`{path}`", ", ".join(methods), "a step" if scripted else "computed")
        for (title, path, scripted), methods in rows.items()
    ]
    return table(("provider", "route", "methods", "its answer is"), told)


def provider_routes() -> Iterator[tuple[str, Endpoint]]:
    """Every endpoint with the title of its wire, as people list them."""
    dialects = {row.title for row in DIALECTS.values() if row is not OPENAI}
    for wire in reversed(wires()):
        if wire.title not in dialects:
            for endpoint in wire.endpoints:
                yield wire.title, endpoint
