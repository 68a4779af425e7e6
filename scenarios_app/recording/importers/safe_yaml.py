"""Reads untrusted YAML: only plain values, with limits that are checked before values are built."""

import math
import re
from datetime import date
from typing import Any, ClassVar, Final

import yaml

from scenarios_app.engine.shapes import DocumentError, Problem

MAX_DEPTH: Final = 100
MAX_NODES: Final = 2_000_000
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Types other than text. Merge keys are left out: with them a small file expands without limit.
_RESOLVED: Final = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("bool", "float", "int", "null")
)


class _PlainLoader(_Loader):
    """Loads only text, numbers, lists and objects; dates stay text."""

    yaml_implicit_resolvers: ClassVar[dict[str | None, list[tuple[str, re.Pattern[str]]]]] = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag in _RESOLVED]
        for first, resolvers in _Loader.yaml_implicit_resolvers.items()
    }


# The tag with which Python 2 wrote texts.
_PlainLoader.add_constructor(
    "tag:yaml.org,2002:python/unicode", lambda loader, node: loader.construct_scalar(node)
)


def read_yaml(data: bytes, *, source: str = "") -> Any:
    """Return the values of a YAML file: texts, numbers, bytes, lists and objects. Raises
    DocumentError for invalid YAML, tags of Python objects, deep nesting and too many values."""
    try:
        text = data.decode("utf-8-sig")
        _check_events(text, source)
        value = yaml.load(text, Loader=_PlainLoader)
    except UnicodeDecodeError as error:
        raise _error(source, f"expected UTF-8 text, byte {error.start + 1} is not") from None
    except yaml.MarkedYAMLError as error:
        raise _error(source, _describe_error(error)) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise _error(source, f"not valid YAML: {str(error)[:200]}") from None
    _check_size(value, source)
    return value


def _error(source: str, message: str) -> DocumentError:
    return DocumentError.of([Problem("", message, source)])


def _describe_error(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    place = f", line {mark.line + 1} column {mark.column + 1}" if mark else ""
    return f"not valid YAML{place}: {str(error.problem or error.context)[:200]}"


def _check_events(text: str, source: str) -> None:
    """Check depth and number of nodes first: the C loader recurses once per level, so deep nesting
    would crash the process."""
    depth = nodes = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _error(source, f"nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > MAX_NODES:
            raise _error(source, f"holds more than {MAX_NODES} values")


def _check_size(value: Any, source: str) -> None:
    """Check the number of values, with the target of each alias counted every time."""
    sizes: dict[int, int] = {}

    def size(value: Any) -> int:
        if isinstance(value, float) and not math.isfinite(value):
            raise _error(source, "holds a number that is not finite")
        if not isinstance(value, dict | list):
            if isinstance(value, str | bytes | bool | int | float | date | None):
                return 1
            raise _error(source, f"holds a value of type {type(value).__name__}")
        cached = sizes.get(id(value))
        if cached is None:
            # A value that is met again while it is counted contains itself.
            sizes[id(value)] = MAX_NODES
            items = [*value, *value.values()] if isinstance(value, dict) else value
            cached = sizes[id(value)] = 1 + sum(map(size, items))
        if cached > MAX_NODES:
            raise _error(source, f"unfolds to more than {MAX_NODES} values")
        return cached

    size(value)
