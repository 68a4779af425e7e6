"""The tool of all clients, and the reactions of a careful program to a bad answer."""

import json

QUESTION = "What is the weather in Paris?"
DESCRIPTION = "Tells the weather."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"sunny in {city}"


def result_of(name: str, arguments: str | dict | None) -> str:
    """Return the result of a call, or its error, as a text for the model."""
    if name != "get_weather":
        return f"error: unknown tool {name}"
    try:
        values = json.loads(arguments) if isinstance(arguments, str) else arguments or {}
        return get_weather(**values)
    except (ValueError, TypeError) as error:
        return f"error: invalid arguments: {error}"


def give_up(reason: str) -> None:
    raise SystemExit(f"error: {reason}")
