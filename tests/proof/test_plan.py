"""The cells of a sweep and the order in which they run."""

import sys

import pytest

from scenarios_app.proof.plan import BadCell, find_cell, order_cells
from scenarios_app.verdict.fault_kinds import KINDS
from tests.proof.observations import all_cells, answer

TEXT_ONLY = {"cut_text", "max_tokens"}
CALLS_ONLY = {"cut_call", "broken_arguments", "unknown_tool", "call_twice"}
SOCKET_ONLY = {
    *("socket_closed", "socket_closed_inside", "half_frame", "no_pong", "connection_limit"),
}


def kinds_of(*answers: dict[str, object]) -> set[str]:
    return {cell.kind.name for cell in all_cells(answers)}


def test_answer_gets_the_kinds_that_fit_it() -> None:
    everything = {kind.name for kind in KINDS}
    assert kinds_of(answer()) == everything - CALLS_ONLY - SOCKET_ONLY
    assert kinds_of(answer(text="", calls=["f"])) == everything - TEXT_ONLY - SOCKET_ONLY
    assert kinds_of(answer(calls=["f"], socket=True)) == everything


def test_cell_is_named_by_its_session_only_if_there_are_several() -> None:
    assert all_cells([answer(2)])[0].name == "rate_limit@2"
    names = {cell.name for cell in all_cells([answer(), answer(session="b")])}
    assert {"rate_limit@a#1", "rate_limit@b#1"} <= names


def test_kinds_and_steps_restrict_the_cells() -> None:
    answers = [answer(1), answer(2)]
    cells = all_cells(answers, kinds=["refusal", "reset"], steps=["s/2"])
    assert [cell.name for cell in cells] == ["reset@2", "refusal@2"]
    assert len(all_cells(answers, kinds=["refusal"], steps=["s"])) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": ["refusel"]}, "there is no kind 'refusel'; there are rate_limit, "),
        ({"steps": ["s/9"]}, "no answer came from 's/9'; those that answered: s/1"),
    ],
)
def test_unknown_kind_or_step_is_named_with_those_there_are(
    options: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(BadCell, match=message):
        all_cells([answer()], **options)


def test_first_cells_have_each_kind_once_and_then_each_answer() -> None:
    answers = [answer(number, calls=["f"]) for number in range(1, 41)]
    cells = order_cells(all_cells(answers), KINDS, seed=0)
    kinds = [kind.name for kind in KINDS if kind.name not in SOCKET_ONLY]
    assert [cell.kind.name for cell in cells[: len(kinds)]] == kinds
    assert len({cell.place for cell in cells[: len(kinds)]}) == len(kinds)
    assert len({cell.place for cell in cells[:40]}) == 40
    assert len(set(cells)) == len(cells) == 40 * len(kinds)


def calls_of_order(answers: int) -> int:
    """Return the number of Python function calls to order the cells of this many answers."""
    cells = all_cells([answer(number, calls=["f"]) for number in range(1, answers + 1)])
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        ordered = order_cells(cells, KINDS, seed=0)
    finally:
        sys.setprofile(None)
    assert len(ordered) == len(cells)
    return calls


def test_ordering_takes_time_linear_in_the_number_of_answers() -> None:
    small, large = calls_of_order(50), calls_of_order(500)
    assert small * 5 < large < small * 15


def test_same_seed_gives_the_same_order_and_another_seed_another() -> None:
    cells = all_cells([answer(number) for number in range(1, 6)])
    first, again, other = (
        [cell.name for cell in order_cells(cells, KINDS, seed=seed)] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_cell_is_found_by_its_name() -> None:
    cells = all_cells([answer()])
    assert find_cell("refusal@1", cells).kind.name == "refusal"
    with pytest.raises(BadCell, match="there is no cell 'refusal@7'; there are 15, such as"):
        find_cell("refusal@7", cells)
