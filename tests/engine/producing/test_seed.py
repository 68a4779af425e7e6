"""Ids and random draws depend only on the request."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.producing.produce import Seed, make_seed

ARGUMENTS = ("s", "POST", "/v1/messages", b"{}", 1)


def test_the_seed_is_pinned() -> None:
    # A change here changes every id in the recorded tests of users.
    seed = make_seed(*ARGUMENTS)
    assert seed.hex == "d7521f021205d96607fa9392f54545e920a5abff1190a5175d60c118985223ab"
    assert seed.response_id == "b48cbe6edbf30c0d7c25b6664035716b"
    assert seed.request_id == "26742682fe0deef5bdcab413e5d361a6"
    assert seed.tool_call_id(1) == "52efeece23b79b641cd4b04d"
    assert list(islice(seed.draws(), 5)) == [
        0.5107568114398128,
        0.81892757549272,
        0.8842161481003435,
        0.09040442067145127,
        0.6392678938311963,
    ]


def test_every_field_changes_the_seed() -> None:
    other_seeds = [
        make_seed("t", *ARGUMENTS[1:]),
        make_seed("s", "GET", *ARGUMENTS[2:]),
        make_seed("s", "POST", "/v1/models", *ARGUMENTS[3:]),
        make_seed("s", "POST", "/v1/messages", b"{ }", 1),
        make_seed("s", "POST", "/v1/messages", b"{}", 2),
    ]
    assert len({make_seed(*ARGUMENTS), *other_seeds}) == 6


def test_fields_are_separated_in_the_seed() -> None:
    assert make_seed("a", "b", "", b"", 1) != make_seed("ab", "", "", b"", 1)
    assert make_seed("1:a", "", "", b"", 1) != make_seed("", "1:a", "", b"", 1)
    assert make_seed("", "", "", b"0:1", 1) != make_seed("", "", "", b"", 1)


@given(st.text(), st.text(), st.text(), st.binary(), st.integers(1, 10**9))
def test_seed_of_any_fields_is_deterministic(
    session: str, method: str, path: str, body: bytes, ordinal: int
) -> None:
    seed = make_seed(session, method, path, body, ordinal)
    assert seed == make_seed(session, method, path, body, ordinal)
    assert len(bytes.fromhex(seed.hex)) == 32


def test_lone_surrogate_in_a_path_is_accepted() -> None:
    assert make_seed("s", "GET", "/\udcff", b"", 1) != make_seed("s", "GET", "/\udcfe", b"", 1)


def test_ids_of_one_request_are_hexadecimal_and_differ() -> None:
    seed = Seed("ab")
    ids = [seed.response_id, seed.request_id, *(seed.tool_call_id(n) for n in range(1, 50))]
    assert len(set(ids)) == len(ids)
    assert [len(i) for i in ids[:3]] == [32, 32, 24]
    assert all(bytes.fromhex(i) for i in ids)


def test_draws_are_spread_over_the_unit_interval() -> None:
    draws = list(islice(Seed("ab").draws(), 4000))
    assert all(0 <= draw < 1 for draw in draws)
    assert len(set(draws)) == 4000
    assert abs(sum(draws) / 4000 - 0.5) < 0.02


def test_draws_start_over_each_time() -> None:
    seed = Seed("ab")
    assert list(islice(seed.draws(), 9)) == list(islice(seed.draws(), 9))
