"""The arguments of earlier calls, for providers that take objects and not the model's text."""

import json
from typing import Any, NoReturn


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
