"""Scripts that complete commands and options of `mockllm` in bash, zsh and fish."""

from argparse import SUPPRESS, Action
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from types import MappingProxyType


@dataclass(frozen=True)
class CompletedOption:
    """An option of a command, such as `--port`, with its help text and its possible values."""

    name: str
    help: str
    choices: Sequence[str] = ()
    takes_value: bool = False


@dataclass(frozen=True)
class CompletedCommand:
    """A command with the options that a shell offers after its name."""

    name: str
    summary: str
    options: Sequence[CompletedOption] = ()


def to_options(actions: Iterable[Action]) -> Iterator[CompletedOption]:
    """Yield the long options among a parser's actions that its help shows."""
    for action in actions:
        if action.help is SUPPRESS:
            continue
        text = (action.help or "") % {**vars(action), "prog": "mockllm"}
        choices = tuple(str(choice) for choice in action.choices or ())
        for name in action.option_strings:
            if name.startswith("--"):
                yield CompletedOption(name, text, choices, takes_value=action.nargs != 0)


def bash_script(commands: Sequence[CompletedCommand]) -> str:
    """Return a script for bash; after anything but an option, files are completed."""
    options = [
        f"    {name}) words={quote(' '.join(option.name for option in options))} ;;"
        for name, options in _with_options(commands)
    ]
    values = [
        f"    {quote(f'{name} {option.name}')}) words={quote(' '.join(option.choices))} values=1 ;;"
        for name, options in _with_options(commands)
        for option in options
        if option.choices
    ]
    return "\n".join(
        [
            "_mockllm() {",
            '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
            '  local command="${COMP_WORDS[1]}" words="" values=""',
            "  COMPREPLY=()",
            "  if ((COMP_CWORD == 1)); then",
            f"    words={quote(' '.join(command.name for command in commands))} values=1",
            "  else",
            '    case "$command" in',
            *options,
            "    esac",
            '    case "$command $before" in',
            *values,
            "    esac",
            "  fi",
            '  if [[ -n "$values" || "$current" == -* ]]; then',
            '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")',
            "  fi",
            "}",
            "complete -o default -F _mockllm mockllm",
        ]
    )


def zsh_script(commands: Sequence[CompletedCommand]) -> str:
    """Return a script for zsh, to be sourced or to lie in a folder of `fpath` as `_mockllm`."""
    cases = [
        f"    {name}) options=({' '.join(map(_zsh_option, options))}) ;;"
        for name, options in _with_options(commands)
    ]
    described = [_described(command.name, command.summary) for command in commands]
    return "\n".join(
        [
            "#compdef mockllm",
            "_mockllm() {",
            "  local -a commands options",
            f"  commands=({' '.join(described)})",
            "  if ((CURRENT == 2)); then",
            "    _describe command commands",
            "    return",
            "  fi",
            '  case "$words[2]" in',
            *cases,
            "  esac",
            "  _arguments -S $options '*: :_files'",
            "}",
            'if [[ "$funcstack[1]" == _mockllm ]]; then _mockllm "$@"; '
            "else compdef _mockllm mockllm; fi",
        ]
    )


def fish_script(commands: Sequence[CompletedCommand]) -> str:
    """Return a script for fish."""
    lines = [
        f"complete -c mockllm -f -n __fish_use_subcommand -a {command.name}"
        f" -d {_fish_text(command.summary)}"
        for command in commands
    ]
    for name, options in _with_options(commands):
        condition = _fish_text(f"__fish_seen_subcommand_from {name}")
        for option in options:
            flag = (
                f"-l {option.name[2:]}" if option.name.startswith("--") else f"-s {option.name[1:]}"
            )
            values = f" -x -a {_fish_text(' '.join(option.choices))}" if option.choices else ""
            value = values or (" -r" if option.takes_value else "")
            lines.append(
                f"complete -c mockllm -n {condition} {flag}{value} -d {_fish_text(option.help)}"
            )
    return "\n".join(lines)


SHELLS: Mapping[str, Callable[[Sequence[CompletedCommand]], str]] = MappingProxyType(
    {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
)


def _with_options(
    commands: Sequence[CompletedCommand],
) -> Iterator[tuple[str, Sequence[CompletedOption]]]:
    return ((command.name, command.options) for command in commands if command.options)


def _described(word: str, text: str) -> str:
    """Return `word:text` as zsh's `_describe` reads it."""
    return quote(f"{word}:{text}".replace("\n", " "))


def _zsh_option(option: CompletedOption) -> str:
    """Return an option as zsh's `_arguments` reads it."""
    text = option.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    values = f"({' '.join(option.choices)})" if option.choices else "_files"
    value = f": :{values}" if option.takes_value else ""
    return quote(f"*{option.name}[{text}]{value}".replace("\n", " "))


def _fish_text(text: str) -> str:
    """Return a text in quotes, in which fish escapes backslashes and quotes alone."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ")
    return f"'{escaped}'"
