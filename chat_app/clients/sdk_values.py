"""Reading what a provider sends: SDKs do not insist that it has the shape of its own API."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from chat_app.clients.failures import unreadable


def as_object(text: str) -> dict[str, Any]:
    """The object that a text of JSON says. What is none is kept, as text, under `arguments`: the
    model should see what it wrote."""
    try:
        value = json.loads(text, parse_constant=_refuse)
        # Numbers such as 1e999 are read as infinite, and no JSON can say that.
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": text}


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


@contextmanager
def legible() -> Iterator[None]:
    """An answer is read in here: one that has not the shape of its API cannot be."""
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise unreadable() from error


def text(value: object) -> str:
    """A text that may be missing."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise TypeError(f"expected a text, got {type(value).__name__}")


def needed(value: object) -> str:
    if found := text(value):
        return found
    raise ValueError("expected a text, got none")


def number(value: object) -> int:
    """The place of something among others, 0 where none is told."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    raise TypeError(f"expected a number, got {type(value).__name__}")


def count(value: object) -> int:
    """A number of tokens, 0 where none is told."""
    return value if isinstance(value, int) and value > 0 else 0
