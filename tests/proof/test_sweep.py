"""Repetitions and time limits of the runs of a sweep, on a bench without a server."""

import queue
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import pytest

from scenarios_app.proof.experiment import Sweep
from scenarios_app.proof.outcome import Observation
from scenarios_app.proof.sweep import Bench, SweepOptions, run_cells, run_clean
from scenarios_app.proof.torture import TORTURE
from tests.proof.observations import cell, changed_answer, make_observation


class PlannedBench:
    """A bench that returns planned runs, one after another."""

    def __init__(self, runs: Iterable[Observation]) -> None:
        self.remaining = list(runs)

    def observe(self, changes: Any, **keys: Any) -> Observation:
        return self.remaining.pop(0)


def bench_of(*runs: Observation) -> Bench:
    return cast(Bench, PlannedBench(runs))


def outcome_of(*runs: Observation, jobs: int) -> str:
    """Return the outcome of a cell with these runs."""
    benches: queue.SimpleQueue[Bench] = queue.SimpleQueue()
    benches.put(bench_of(*runs))
    swept_cell, result = cell("server_error"), Sweep(())
    options = SweepOptions(TORTURE, ("true",), jobs=jobs)
    run_cells(result, [swept_cell], make_observation(), options, benches, lambda *now: None)
    return result.results[swept_cell].judgement.outcome


HUNG_RUN, ENDED_RUN = make_observation(hung=True), make_observation(answers=[changed_answer()])


@pytest.mark.parametrize(
    ("runs", "jobs", "outcome"),
    [
        ((HUNG_RUN, ENDED_RUN), 2, "survived"),
        ((HUNG_RUN, HUNG_RUN), 2, "hung"),
        ((HUNG_RUN,), 1, "hung"),
        ((ENDED_RUN,), 2, "survived"),
    ],
)
def test_run_that_hung_beside_others_is_repeated_alone(
    runs: tuple[Observation, ...], jobs: int, outcome: str
) -> None:
    assert outcome_of(*runs, jobs=jobs) == outcome


def test_slower_one_of_the_clean_runs_bounds_the_others() -> None:
    slow = replace(make_observation(), program=replace(make_observation().program, seconds=9.0))
    for runs in ((make_observation(), slow), (slow, make_observation())):
        assert run_clean(bench_of(*runs), SweepOptions(TORTURE, ("true",))) is slow
