"""Hypothesis strategies for JSON and for an SDK's request types, with settings for slow draws."""

import functools
import types
from collections.abc import Iterable, Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

relaxed = functools.partial(
    settings,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
INTEGERS = st.integers(-(2**53), 2**53)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | INTEGERS | NUMBERS | st.text(max_size=8)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
PLAIN: Mapping[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=8),
    int: INTEGERS,
    float: NUMBERS,
    bool: st.booleans(),
    object: JSON,
    type(None): st.none(),
}


def values_of(type_: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for JSON values of an annotation: typed dict, union, literal or list."""
    if type_ in PLAIN:
        return PLAIN[type_]
    if hasattr(type_, "__required_keys__"):
        return _objects_of(type_)
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values_of, arguments))
    if origin in (Annotated, Required, NotRequired):
        return values_of(arguments[0])
    if origin is dict:
        return st.dictionaries(st.text(max_size=5), values_of(arguments[1]), max_size=2)
    if issubclass(origin, Iterable) or origin.__name__ == "SequenceNotStr":
        return st.lists(values_of(arguments[0]), max_size=2)
    raise TypeError(f"no strategy for {type_!r}")


def _objects_of(type_: Any) -> st.SearchStrategy[dict[str, Any]]:
    hints = get_type_hints(type_, include_extras=True)
    fields = {name: values_of(hint) for name, hint in hints.items()}
    # With postponed annotations `__required_keys__` is empty, so read the markers themselves.
    needed = {name for name, hint in hints.items() if get_origin(hint) is Required}
    return st.fixed_dictionaries(
        {name: fields[name] for name in hints if name in needed},
        optional={name: fields[name] for name in hints if name not in needed},
    )
