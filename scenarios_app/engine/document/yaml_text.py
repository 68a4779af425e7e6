"""Reads untrusted YAML: only plain values, with limits that are checked before values are built."""

import math
import re
from collections.abc import Callable
from datetime import date
from typing import Any, ClassVar, Final

import yaml

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.json_text import to_plain_json
from scenarios_app.engine.shapes import DocumentError, Loc, Problem, format_location

MAX_DEPTH: Final = 100
MAX_NODES: Final = 2_000_000
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Types other than text. Merge keys are left out: with them a small file expands without limit.
_RESOLVED: Final = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("bool", "float", "int", "null")
)


class _PlainLoader(_Loader):  # type: ignore[misc]
    """Loads only text, numbers, lists and objects; dates stay text."""

    yaml_implicit_resolvers: ClassVar[dict[str | None, list[tuple[str, re.Pattern[str]]]]] = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag in _RESOLVED]
        for first, resolvers in _Loader.yaml_implicit_resolvers.items()
    }


# The tag with which Python 2 wrote texts.
_PlainLoader.add_constructor(
    "tag:yaml.org,2002:python/unicode", lambda loader, node: loader.construct_scalar(node)
)


def _make_checked(kind: str) -> Callable[[Any, Any], Any]:
    """Return the constructor of a tag's values, which raises ConstructorError for texts that the
    tag does not fit. PyYAML's own raises any error for these."""
    construct = getattr(yaml.constructor.SafeConstructor, f"construct_yaml_{kind}")

    def construct_checked(loader: Any, node: Any) -> Any:
        try:
            return construct(loader, node)
        except (ValueError, LookupError, AttributeError, OverflowError):
            message = f"{node.value!r:.80} is no {kind}"
            raise yaml.constructor.ConstructorError(
                problem=message, problem_mark=node.start_mark
            ) from None

    return construct_checked


for _kind in ("bool", "int", "float", "timestamp"):
    _PlainLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _make_checked(_kind))


class _UniqueKeyLoader(_PlainLoader):
    """Refuses an object with a repeated key."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return the object; raises ConstructorError for a repeated key."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                message = f"the key {key.value!r:.80} is given twice"
                raise yaml.constructor.ConstructorError(
                    problem=message, problem_mark=key.start_mark
                )
            seen.add(str(key.value))
        return super().construct_mapping(node, deep=deep)


def decode_yaml(data: bytes, *, source: str = "") -> Json:
    """Return the plain JSON of a document in YAML; raises DocumentError, also for repeated keys."""
    return to_plain_json(read_yaml(data, source=source, loader=_UniqueKeyLoader), source=source)


def find_positions(data: bytes) -> dict[str, tuple[int, int]]:
    """Return the line and column of each place in valid YAML or JSON; empty for other formats. The
    content of an anchor is located only where it is defined."""
    # JSON has tabs and halves of surrogate pairs where YAML has none; the columns stay.
    text = data.decode("utf-8-sig", "replace").replace("\t", " ").replace("\\u", "__")
    positions: dict[str, tuple[int, int]] = {}
    seen: set[int] = set()
    try:
        _check_events(text, "")
        root: Any = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, DocumentError):
        return {}
    nodes: list[tuple[Loc, Any, Any]] = [((), root, root)]
    while nodes:
        loc, first, node = nodes.pop()
        mark, inner = first.start_mark, []
        # The last one of a repeated key counts.
        positions[format_location(loc)] = mark.line + 1, mark.column + 1
        if id(node) not in seen and isinstance(node, yaml.MappingNode):
            inner = [((*loc, str(key.value)), key, value) for key, value in node.value]
        elif id(node) not in seen and isinstance(node, yaml.SequenceNode):
            inner = [((*loc, number), item, item) for number, item in enumerate(node.value)]
        nodes += reversed(inner)
        seen.add(id(node))
    return positions


def read_yaml(data: bytes, *, source: str = "", loader: Any = _PlainLoader) -> Any:
    """Return the values of a YAML file: texts, numbers, bytes, lists and objects. Raises
    DocumentError for invalid YAML, tags of Python objects, deep nesting and too many values."""
    try:
        text = data.decode("utf-8-sig")
        _check_events(text, source)
        value = yaml.load(text, Loader=loader)
    except UnicodeDecodeError as error:
        message = f"expected UTF-8 text, byte {error.start + 1} is not"
        raise DocumentError("", message, source) from None
    except yaml.MarkedYAMLError as error:
        mark, message = error.problem_mark, str(error.problem or error.context)[:200]
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        problem = Problem("", f"not valid YAML: {message}", source, line, column)
        raise DocumentError.of([problem]) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise DocumentError("", f"not valid YAML: {str(error)[:200]}", source) from None
    _check_size(value, source)
    return value


def _check_events(text: str, source: str) -> None:
    """Raise DocumentError for YAML that nests too deep or has too many nodes, before the C loader,
    which recurses once per level, could crash the process."""
    depth = nodes = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise DocumentError("", f"nested deeper than {MAX_DEPTH} levels", source)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > MAX_NODES:
            raise DocumentError("", f"holds more than {MAX_NODES} values", source)


def _check_size(value: Any, source: str) -> None:
    """Raise DocumentError for infinity, other types, or too many values with aliases expanded."""
    sizes: dict[int, int] = {}

    def count_values(value: Any) -> int:
        """Return the number of values and keys, aliases expanded. Raises DocumentError."""
        if isinstance(value, float) and not math.isfinite(value):
            raise DocumentError("", "holds a number that is not finite", source)
        if not isinstance(value, dict | list):
            if isinstance(value, str | bytes | bool | int | float | date | None):
                return 1
            raise DocumentError("", f"holds a value of type {type(value).__name__}", source)
        cached = sizes.get(id(value))
        if cached is None:
            # A value that is met again while it is counted contains itself.
            sizes[id(value)] = MAX_NODES
            items = [*value, *value.values()] if isinstance(value, dict) else value
            cached = sizes[id(value)] = 1 + sum(map(count_values, items))
        if cached > MAX_NODES:
            raise DocumentError("", f"unfolds to more than {MAX_NODES} values", source)
        return cached

    count_values(value)
