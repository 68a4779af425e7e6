"""The number of JSON values is estimated before decoding: never too high, rarely too low."""

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


def count_values(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count_values, inner))


def count_lower_bound(value: Json) -> int:
    """Return the number of values that commas or containers alone prove."""
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return max(count_commas(value), 1 + sum(map(count_containers, inner)))


def count_commas(value: Json) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return max(len(value) - 1, 0) + sum(map(count_commas, inner))


def count_containers(value: Json) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + sum(map(count_containers, inner))


@given(JSON, st.booleans(), st.integers(1, 9))
def test_separators_in_strings_do_not_count(
    value: Json, ascii_only: bool, slice_bytes: int
) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body, "SLICE_BYTES", slice_bytes)
        assert not more_values_than(count_values(value), data)
        assert not more_values_than(count_lower_bound(value), data)
        assert not count_lower_bound(value) or more_values_than(count_lower_bound(value) - 1, data)


@pytest.mark.parametrize("data", [b"", b"\\", b'"', b'"\\', b"[" * 9, b",,,", b"\xff" * 3])
def test_values_of_invalid_json_are_counted(data: bytes) -> None:
    assert more_values_than(2, data) == (data in (b"[" * 9, b",,,"))
