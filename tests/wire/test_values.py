"""Values are counted without being made: never too many of them, and seldom too few."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import Json
from scenarios_app.wire import body
from scenarios_app.wire.body import more_values_than

TEXT = st.text(st.sampled_from('",[]{}\\\\\\né'), max_size=12)
JSON = st.recursive(
    TEXT | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=25,
)


def number_of(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(number_of, inner))


def at_least(value: Json) -> int:
    """What can be told of it by commas, or by arrays and objects, alone."""
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return max(commas_in(value), 1 + sum(map(containers_in, inner)))


def commas_in(value: Json) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return max(len(value) - 1, 0) + sum(map(commas_in, inner))


def containers_in(value: Json) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + sum(map(containers_in, inner))


@given(JSON, st.booleans(), st.integers(1, 9))
def test_separators_in_strings_do_not_count(value: Json, ascii_only: bool, piece: int) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body, "SLICE_BYTES", piece)
        assert not more_values_than(number_of(value), data)
        assert not more_values_than(at_least(value), data)
        assert not at_least(value) or more_values_than(at_least(value) - 1, data)


@pytest.mark.parametrize("data", [b"", b"\\", b'"', b'"\\', b"[" * 9, b",,,", b"\xff" * 3])
def test_invalid_json_is_counted_too(data: bytes) -> None:
    assert more_values_than(2, data) == (data in (b"[" * 9, b",,,"))
