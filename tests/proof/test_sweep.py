"""How a sweep repeats and bounds its runs, on a bench without a server."""

import queue
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import pytest

from scenarios_app.proof.experiment import Sweep
from scenarios_app.proof.outcome import Observation
from scenarios_app.proof.sweep import Bench, SweepOptions, run_cells, run_clean
from scenarios_app.proof.torture import TORTURE
from tests.proof.observations import cell, observed, struck


class PlannedBench:
    """A bench with these runs, one after the other."""

    def __init__(self, runs: Iterable[Observation]) -> None:
        self.left = list(runs)

    def observe(self, changes: Any, **keys: Any) -> Observation:
        return self.left.pop(0)


def bench_of(*runs: Observation) -> Bench:
    return cast(Bench, PlannedBench(runs))


def outcome_of(*runs: Observation, jobs: int) -> str:
    """Return the outcome of a cell whose runs these are."""
    benches: queue.SimpleQueue[Bench] = queue.SimpleQueue()
    benches.put(bench_of(*runs))
    of, result = cell("server_error"), Sweep(())
    options = SweepOptions(TORTURE, ("true",), jobs=jobs)
    run_cells(result, [of], observed(), options, benches, lambda *now: None)
    return result.results[of].judgement.outcome


HUNG, ENDED = observed(hung=True), observed(answers=[struck()])


@pytest.mark.parametrize(
    ("runs", "jobs", "outcome"),
    [
        ((HUNG, ENDED), 2, "survived"),
        ((HUNG, HUNG), 2, "hung"),
        ((HUNG,), 1, "hung"),
        ((ENDED,), 2, "survived"),
    ],
)
def test_run_that_hung_beside_others_is_repeated_alone(
    runs: tuple[Observation, ...], jobs: int, outcome: str
) -> None:
    assert outcome_of(*runs, jobs=jobs) == outcome


def test_slower_one_of_the_clean_runs_bounds_the_others() -> None:
    slow = replace(observed(), program=replace(observed().program, seconds=9.0))
    for runs in ((observed(), slow), (slow, observed())):
        assert run_clean(bench_of(*runs), SweepOptions(TORTURE, ("true",))) is slow
