"""The process of a run writes events while another process takes it for dead."""

from tests.database.process_pair import ProcessPair
from traces_app.leases import MAX_UNSTORED_EVENTS


def start_run(processes: ProcessPair, *, by_other: bool) -> str:
    """Store a run of one of the two processes and return its trace."""
    conversation = processes.run("conversation")["id"]
    run = processes.run("send", conversation=conversation, text="Hello", by_other=by_other)
    return str(run["trace"])


def test_ending_a_run_waits_for_pending_writes(processes: ProcessPair) -> None:
    trace = start_run(processes, by_other=False)
    say_result, end_result = processes.run_concurrently(
        ("say", {"trace": trace, "texts": ["Good", " day"]}),
        ("end_dead", {"trace": trace}),
        hold='INSERT INTO "traces_app_traceevent"',
    )
    assert (say_result, end_result) == ({"lost": False}, {"ended": 1})
    assert processes.run("events", trace=trace)["events"] == [
        [1, "started"],
        [2, "chunk"],
        [3, "chunk"],
        [3 + MAX_UNSTORED_EVENTS, "error"],
    ]


def test_events_after_the_end_of_a_run_are_not_written(processes: ProcessPair) -> None:
    trace = start_run(processes, by_other=True)
    end_result, say_result = processes.run_concurrently(
        ("end_dead", {"trace": trace}),
        ("say", {"trace": trace, "texts": ["Good", " day"]}),
        hold='INSERT INTO "traces_app_traceevent"',
    )
    assert (end_result, say_result) == ({"ended": 1}, {"lost": True})
    assert processes.run("events", trace=trace)["events"] == [
        [1, "started"],
        [1 + MAX_UNSTORED_EVENTS, "error"],
    ]
