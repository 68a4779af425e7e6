"""Parsers of command lines whose errors are one line and name the option that was meant."""

import re
from argparse import ArgumentParser
from collections.abc import Callable
from typing import NoReturn

from mockllm_site.kit.keywords import did_you_mean

UNKNOWN = "unrecognized arguments: "
USAGE_ERROR = 2


class OneLineParser(ArgumentParser):
    """A parser that exits with code 2 and one line for a wrong argument."""

    def error(self, message: str) -> NoReturn:
        exit_with_usage(self, message)


def exit_with_usage(parser: ArgumentParser, message: str) -> NoReturn:
    """Exit with code 2 and one line: the message and a hint at `--help`."""
    line = name_option(message, parser.format_help)
    end = "" if line.endswith("?") else ";"
    parser.exit(USAGE_ERROR, f"{parser.prog}: {line}{end} `{parser.prog} --help` says more\n")


def name_option(message: str, format_help: Callable[[], str]) -> str:
    """Return argparse's message; if it is about an unknown option, name it and a similar one."""
    words = message.removeprefix(UNKNOWN).split()
    option = next((word for word in words if word.startswith("-")), "").partition("=")[0]
    if not message.startswith(UNKNOWN) or not option:
        return message
    options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", format_help()))
    return ", ".join(filter(None, (f"no option {option}", did_you_mean(option, options))))
