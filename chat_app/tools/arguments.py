"""The arguments of a tool call, as a model wrote them."""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

# The SDK cannot write what is nested much deeper, and its connection ends when it tries.
DEEPEST: Final = 64
TOO_DEEP: Final = f"the arguments are nested deeper than {DEEPEST} levels"
MALFORMED: Final = "the arguments are not valid JSON"


class ArgumentsError(Exception):
    """Arguments that are no JSON object; the message says why."""


def read_arguments(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as an object. Blank text is one without members: some models say nothing to a
    tool that has no parameters."""
    value = _decoded(given) if isinstance(given, str) else given
    if not isinstance(value, Mapping):
        raise ArgumentsError("the arguments are not a JSON object")
    _check(value)
    return dict(value)


def _decoded(text: str) -> Any:
    if not text.strip():
        return {}
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ArgumentsError(f"{MALFORMED}: {error}") from None
    except RecursionError:
        raise ArgumentsError(TOO_DEEP) from None


def _check(arguments: Mapping[str, Any]) -> None:
    """Refuse what JSON cannot say; without recursion, so that depth is no danger."""
    left: list[tuple[Any, int]] = [(arguments, 1)]
    while left:
        value, depth = left.pop()
        match value:
            case Mapping() | list() | tuple() if depth > DEEPEST:
                raise ArgumentsError(TOO_DEEP)
            case Mapping():
                for key, member in value.items():
                    if not isinstance(key, str):
                        raise ArgumentsError(f"{MALFORMED}: {key!r} is no key")
                    left += [(key, depth), (member, depth + 1)]
            case list() | tuple():
                left += [(item, depth + 1) for item in value]
            case str() if not value.isascii():
                _check_text(value)
            case float() if not math.isfinite(value):
                raise ArgumentsError(f"{MALFORMED}: {value} is no number of JSON")
            case None | bool() | int() | float() | str():
                pass
            case _:
                raise ArgumentsError(f"{MALFORMED}: {type(value).__name__} is no type of JSON")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentsError(f"{MALFORMED}: {error}") from None
