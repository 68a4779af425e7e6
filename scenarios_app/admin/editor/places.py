"""Which values of a document the fields of a page show, and which stay JSON.

A place names a value by its keys: `produce.text`. `match.messages(user)` is the first condition on
messages if it is for this role; `match.tool_results(name)` is the name in the first condition on
tool results if there is nothing else in it; `match.*` are the keys of `match` that have no field.
Everything here is pure.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.shapes import DocumentError

Keys: TypeAlias = tuple[str, ...]
Object: TypeAlias = dict[str, Json]

MODES: Final = ("contains", "equals", "startswith", "regex")
_MISSING: Final[Any] = object()
# Browsers and Python agree on whole numbers up to this one.
_MAX_WHOLE = 2**53
# The variants of items, in the order in which they begin their list.
_VARIANTS = ("system", "user", "tool", "name")
_ITEM_OF_LIST = re.compile(r"(.+)\((\w+)\)")


def _is_text(value: Json) -> bool:
    """Return whether databases and form fields keep a text, except for its line ends; false for
    an empty one, which a form field cannot tell from none."""
    return isinstance(value, str) and value != "" and not re.search("[\0\ud800-\udfff]", value)


def _is_line(value: Json) -> bool:
    return _is_text(value) and value == str(value).strip() and not {"\n", "\r"} & set(str(value))


def _is_list_of_lines(value: Json, separator: str) -> bool:
    return isinstance(value, list) and all(
        _is_line(item) and separator not in str(item) for item in value
    )


def _is_condition(value: Json, *more: str) -> bool:
    """Return whether a text condition has one mode, and else only defaults and `more`."""
    if not isinstance(value, dict):
        return False
    modes = value.keys() & set(MODES)
    others = {f"{key}={value[key]!r}" for key in value.keys() - modes}
    defaults = {"ignore_case=False", "which='last'", *more}
    return len(modes) == 1 and others <= defaults and all(_is_text(value[mode]) for mode in modes)


def _is_model(value: Json) -> bool:
    """Return whether a condition on the model is a text of one line, or holds one."""
    if not isinstance(value, dict):
        return _is_line(value)
    return _is_condition(value) and all(_is_line(value.get(mode, "x")) for mode in MODES)


def _is_whole(value: Json) -> bool:
    return type(value) is int and abs(value) < _MAX_WHOLE


def _is_number(value: Json) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


# The values that each kind of field can show. `inputs.py` has the inputs of each kind.
KINDS: Final[Mapping[str, Callable[[Json], bool]]] = {
    "text": _is_text,
    **dict.fromkeys(("line", "select", "provider", "fault", "reasoning", "finish"), _is_line),
    "names": lambda value: _is_list_of_lines(value, ","),
    "lines": lambda value: _is_list_of_lines(value, "\n"),
    "condition": _is_condition,
    "message": lambda value: _is_condition(value, "ignore_case=True"),
    "model": _is_model,
    **dict.fromkeys(("switch", "frequency", "stream"), lambda value: isinstance(value, bool)),
    "whole": _is_whole,
    "number": _is_number,
    **dict.fromkeys(("object", "recorded"), _is_object),
    "list": lambda value: isinstance(value, list),
}
# A field for all keys of an object that have no field, and one of the case in a condition.
REST, IGNORE_CASE = "rest", "ignore_case"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a page. `width` is in twelfths of a row, `default` the value of a missing key.
    A summary shows label and value; with `clear` only the value."""

    place: str
    kind: str
    label: str
    width: int
    help: str = ""
    example: str = ""
    default: Json = None
    clear: bool = False

    @property
    def keys(self) -> Keys:
        """The keys of the place, of the object around them for REST; the last may name an item,
        as in `messages(user)`."""
        return tuple(key for key in self.place.split(".") if key != "*")


class Group:
    """Fields under one heading.

    `folded` groups are closed and show a summary, unless a field in them has an error. `note`
    explains the group above the list of steps. An `optional` group is shown only if one of its
    fields is set. `chooser` has choices that set fields of the group in the browser (`when` in
    `step_fields.html`).
    """

    def __init__(
        self,
        title: str,
        *fields: Field,
        folded: bool = True,
        note: str = "",
        optional: bool = False,
        chooser: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.title, self.fields = title, fields
        self.folded, self.note, self.optional, self.chooser = folded, note, optional, chooser


@dataclass(frozen=True, slots=True)
class _Item:
    """A field that shows an item at the beginning of the list at `keys`."""

    field: Field
    keys: Keys
    variant: str

    def read(self, item: Any) -> Any:
        """Return what the field shows of an item, or _MISSING if that is not all of it."""
        if not self.concerns(item):
            return _MISSING
        value: Any = {key: inner for key, inner in item.items() if key != "role"}
        if self.field.kind == "line":
            value = value[self.variant] if item.keys() == {self.variant} else _MISSING
        return value if KINDS[self.field.kind](value) else _MISSING

    def write(self, value: Json) -> Json:
        if isinstance(value, dict):
            return {"role": self.variant, **value}
        return {self.variant: value}

    def concerns(self, item: Any) -> bool:
        """Return whether an item belongs to the field, which may not be able to show it."""
        if not isinstance(item, dict):
            return False
        return (
            self.variant in item if self.field.kind == "line" else item.get("role") == self.variant
        )


class Layout:
    """The groups of a page. `keys` are those of the document in their usual order; without it the
    order is that of the fields."""

    def __init__(self, *groups: Group, keys: Sequence[str] = ()) -> None:
        self.groups = groups
        self.fields = {one.place: one for group in groups for one in group.fields}
        with_values = [one for one in self.fields.values() if one.kind not in (REST, IGNORE_CASE)]
        matches = [(one, _ITEM_OF_LIST.fullmatch(one.place)) for one in with_values]
        plain = [one for one, match in matches if match is None]
        items = [_Item(one, tuple(m[1].split(".")), m[2]) for one, m in matches if m]
        rests = [one for one in self.fields.values() if one.kind == REST]
        self._plain = sorted(plain, key=lambda one: keys.index(one.keys[0]) if keys else 0)
        self._items = sorted(items, key=lambda item: _VARIANTS.index(item.variant))
        # Inner objects first.
        self._rests = sorted(rests, key=lambda one: -len(one.keys))
        paths = [*(one.keys for one in plain), *(item.keys for item in items)]
        self._sections = {path[:end] for path in paths for end in range(len(path))}

    def split(self, document: Json) -> tuple[Object, Object]:
        """Return the values that fields show, by place, and the rest: objects with all other keys,
        by the place of the field that shows them as JSON. Only a malformed document is no object;
        the field of the whole rest shows it."""
        rest: Json = deepcopy(document)
        values: Object = {}
        if not isinstance(rest, dict):
            return values, {"*": rest}
        for one in self._plain:
            value = _get(rest, one.keys)
            if value is None or (value is not _MISSING and KINDS[one.kind](value)):
                values[one.place] = value
                _remove(rest, one.keys)
        for item in self._items:
            entries = _get(rest, item.keys)
            if not isinstance(entries, list) or not entries:
                continue
            if (value := item.read(entries[0])) is not _MISSING:
                values[item.field.place] = value
                del entries[0]
                if not entries:
                    _remove(rest, item.keys)
        rests: Object = {}
        for one in self._rests:
            section = _get(rest, one.keys)
            if isinstance(section, dict) and section:
                rests[one.place] = section
                _remove(rest, one.keys)
        return values, rests

    def join(self, values: Mapping[str, Json], rest: Mapping[str, Json], like: Json = None) -> Any:
        """Return the document of these values and this rest, which is what `split` returned if
        nothing was changed. A value goes before one of the rest at its place. Keys have the order
        that they have in the document `like`. Raises DocumentError if the rest has no list where a
        value is an item of one."""
        whole = rest.get("*", {})
        if not isinstance(whole, dict):
            return deepcopy(whole)
        document: Object = {}
        for one in self._plain:
            if one.place in values:
                _put(document, one.keys, deepcopy(values[one.place]))
        for one in self._rests:
            if one.place in rest:
                _add_missing(document, _nest(one.keys, deepcopy(rest[one.place])))
        for item in reversed(self._items):
            if item.field.place in values:
                entries = _get(document, item.keys)
                if not isinstance(entries, list) and entries is not _MISSING:
                    raise DocumentError(".".join(item.keys), "expected a list")
                item_value = item.write(deepcopy(values[item.field.place]))
                _put(document, item.keys, [item_value, *([] if entries is _MISSING else entries)])
        return self.order(document, like)

    def find(self, place: str, document: Json) -> tuple[Field, list[str]]:
        """Return the field that shows the value at a place in a document, with the keys from its
        value to that place. For a missing value it is the field in which one would enter it."""
        keys = tuple(re.findall(r"[^.\[\]]+", place))
        values, rest = self.split(document)
        visible = {name for name, value in values.items() if value is not None}
        items = [
            i for i in self._items if i.field.place in visible and keys[: len(i.keys)] == i.keys
        ]
        if items:
            outer, index = items[0].keys, keys[len(items[0].keys) :][:1]
            number = int(index[0]) if index else 0
            if number < len(items):
                return items[number].field, list(keys[len(outer) + 1 :])
            # In the rest these items are missing.
            keys = (*outer, str(number - len(items)), *keys[len(outer) + 1 :])
        for one in self._plain:
            if one.place in visible and keys[: len(one.keys)] == one.keys:
                return one, list(keys[len(one.keys) :])
        section = next(one for one in self._rests if keys[: len(one.keys)] == one.keys)
        inner, others = list(keys[len(section.keys) :]), rest.get(section.place)
        if inner and isinstance(others, dict) and inner[0] in others:
            return section, inner
        # A missing key belongs to the field in which one would type it.
        exact = next((one for one in self._plain if one.keys == keys), None)
        if exact or not keys or others:
            return (exact, []) if exact else (section, inner)
        for name in self.fields:
            if name in visible and self.fields[name].keys[: len(keys)] == keys:
                return self.fields[name], []
        return self.fields.get(_FIRST_FIELDS.get(keys[0], ""), section), inner

    def unshown(self, values: Object, rest: Object) -> Iterator[tuple[Field, Field, Json]]:
        """Yield the fields that cannot show what the document has at their place, each with the
        field of the rest that does, and the value."""
        for section in self._rests:
            if section.place not in rest:
                continue
            nested_rest = _nest(section.keys, rest[section.place])
            for one in self._plain:
                if (
                    one.place not in values
                    and (value := _blocking(nested_rest, one.keys)) is not _MISSING
                ):
                    yield one, section, value
            for item in self._items:
                entries = _get(nested_rest, item.keys)
                for other in entries if isinstance(entries, list) else ():
                    if item.field.place not in values and item.concerns(other):
                        yield item.field, section, other
                        break

    def order(self, new: Any, old: Json, keys: Keys = ()) -> Any:
        """Return a value with keys in the order of an older one, and unchanged items of lists as
        they were. Inside the values of fields the order is that of the new value."""
        if isinstance(new, list) and isinstance(old, list):
            unused = list(old) if keys in (item.keys for item in self._items) else []
            return [_take_same(unused, item) for item in new]
        if keys not in self._sections or not (isinstance(new, dict) and isinstance(old, dict)):
            return new
        ordered = [key for key in old if key in new]
        for before, key in zip([None, *new], new, strict=False):
            if key not in old:
                ordered.insert(ordered.index(before) + 1 if before in ordered else 0, key)
        return {key: self.order(new[key], old.get(key), (*keys, key)) for key in ordered}


# The field for a problem of a whole section in which nothing is set.
_FIRST_FIELDS = {
    "match": "match.messages(user)",
    "produce": "produce.text",
    "failures": "failures.times",
}


def _take_same(values: list[Json], value: Json) -> Json:
    """Remove the first value that is equal as JSON from a list and return it, or else `value`."""
    text = json.dumps(value, sort_keys=True)  # Compared as text: 1 is not true.
    for number, other in enumerate(values):
        if json.dumps(other, sort_keys=True) == text:
            return values.pop(number)
    return value


def _get(value: Json, keys: Iterable[str]) -> Json:
    """Return the value at a path of keys, or _MISSING."""
    for key in keys:
        value = value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
    return value


def _blocking(value: Json, keys: Iterable[str]) -> Json:
    """Return the value at a path of keys, or that on the way which is no object, or _MISSING."""
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return _MISSING if isinstance(value, dict) else value
        value = value[key]
    return value


def _put(owner: Object, keys: Keys, value: Json) -> None:
    """Set a value at a path of keys; missing objects are item_value."""
    for key in keys[:-1]:
        inner = owner.get(key)
        if not isinstance(inner, dict):
            inner = owner[key] = {}
        owner = inner
    owner[keys[-1]] = value


def _remove(owner: Object, keys: Keys) -> None:
    """Remove a value, and the objects around it that become empty; without keys remove nothing."""
    owners: list[Any] = [owner]
    for key in keys[:-1]:
        owners.append(owners[-1][key])
    for around, key in zip(reversed(owners), reversed(keys), strict=False):
        del around[key]
        if around:
            return


def _nest(keys: Keys, value: Json) -> Any:
    """Return an object with the value at a path of keys."""
    for key in reversed(keys):
        value = {key: value}
    return value


def _add_missing(owner: Object, more: Object) -> None:
    """Add the keys of an object, and those of objects in it, that another does not have."""
    for key, value in more.items():
        there = owner.setdefault(key, value)
        if there is not value and isinstance(there, dict) and isinstance(value, dict):
            _add_missing(there, value)
