"""Sends queries and commands to all processes that serve from one database; a single process calls
itself."""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from scenarios_app.catalog import catalog
from scenarios_app.cluster import redis_connections
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.journal import journal
from scenarios_app.verdict.metrics import RunCounts, StepCounts, merge_counts
from scenarios_app.verdict.session import StepKey

if TYPE_CHECKING:
    from scenarios_app.cluster.bus import Bus

FLUSH_SECONDS = 8.0


class Cluster:
    """The processes of this server, this one included. Methods raise StateUnavailable if a process
    does not answer."""

    _bus: "Bus | None" = None

    def __init__(
        self, steps: Callable[[], StepCounts], drop_cached_scenarios: Callable[[str | None], None]
    ) -> None:
        # Returns this process's metrics in Prometheus's format; set at startup.
        self.metrics_text: Callable[[], str] = str
        # Handlers of queries and commands, by name; the value is a session, None for all.
        self._answers: dict[str, Callable[[Any], Any]] = {
            "flush": lambda _: journal.flush(FLUSH_SECONDS),
            "lost": journal.dropped_rows.of,
            "served": lambda session: sorted(steps().served_in(session)),
            "forget": lambda sessions: _for_each(steps().forget_session, sessions),
            "begin": lambda _: steps().restart_run(),
            "run_counts": lambda _: steps().to_message(),
            "metrics": lambda _: self.metrics_text(),
            "forget_losses": lambda sessions: _for_each(journal.dropped_rows.forget, sessions),
        }
        if shared := redis_connections():
            # Imported late, like the Redis client.
            from scenarios_app.cluster.bus import Bus

            messages: dict[str, Callable[[str], Any]] = {
                "session_scenarios": drop_cached_scenarios,
                "catalog": lambda _: catalog.reload(),
                "missed": lambda _: drop_cached_scenarios(None),
            }
            self._bus = Bus(shared, messages=messages, queries=self._answers)

    @property
    def is_single_process(self) -> bool:
        """Return whether no other process serves the same sessions."""
        return self._bus is None

    def start(self) -> None:
        if self._bus is not None:
            self._bus.start()

    def stop(self) -> None:
        if self._bus is not None:
            self._bus.stop()

    def flush(self) -> bool:
        """Wait until all finished requests are readable; return False if that takes too long."""
        return all(self._query_all("flush"))

    def count_lost_rows(self, session: str | None) -> int:
        """Return the number of journal rows lost for a session, or for all."""
        return sum(map(int, self._query_all("lost", session)))

    def served_in(self, session: str) -> frozenset[tuple[str, str]]:
        """Return scenario and key of the steps that answered a session since its last reset."""
        answers = self._query_all("served", session)
        return frozenset((scenario, key) for steps in answers for scenario, key in steps)

    def run_counts(self, also: Collection[StepKey] = ()) -> RunCounts:
        """Return how often steps answered and conditions held in all processes since `restart_run`;
        steps in `also` count at least one answer."""
        return merge_counts(self._query_all("run_counts"), also)

    def restart_run(self) -> None:
        """Set the counts of the run to zero in all processes."""
        self._query_all("begin")

    def all_metrics(self) -> list[str]:
        """Return the metrics of each process, or only of this one if another does not answer."""
        try:
            return [text for text in self._query_all("metrics") if text]
        except StateUnavailable:
            return [self.metrics_text()]

    def forget(self, sessions: Sequence[str] | None) -> None:
        """Forget the steps that answered these sessions, or all sessions."""
        self._query_all("forget", sessions)

    def forget_losses(self, sessions: Sequence[str] | None) -> None:
        """Reset the counts of lost journal rows of these sessions, or of all."""
        self._query_all("forget_losses", sessions)

    def _query_all(self, word: str, about: Any = None) -> list[Any]:
        """Return the answers of all processes to a query, this one's included, in any order; `word`
        is a key of `_answers`. Waits for them."""
        if self._bus is None:
            return [self._answers[word](about)]
        return self._bus.ask(word, about)


def _for_each(forget: Callable[[str | None], None], sessions: Sequence[str] | None) -> None:
    """Call `forget` with each of these sessions, or with None for all."""
    for session in [None] if sessions is None else sessions:
        forget(session)
