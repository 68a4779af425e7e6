"""A run's process writes what it says while another one takes it for dead."""

from tests.database.two import Two
from traces_app.leases import MAX_UNSTORED_EVENTS


def begun(two: Two, *, by_other: bool) -> str:
    """A run of one of the two processes."""
    conversation = two.do("conversation")["id"]
    run = two.do("send", conversation=conversation, text="Hello", by_other=by_other)
    return str(run["trace"])


def test_ending_a_run_waits_for_pending_writes(two: Two) -> None:
    trace = begun(two, by_other=False)
    said, ended = two.meanwhile(
        ("say", {"trace": trace, "texts": ["Good", " day"]}),
        ("end_dead", {"trace": trace}),
        hold='INSERT INTO "traces_app_traceevent"',
    )
    assert (said, ended) == ({"lost": False}, {"ended": 1})
    assert two.do("events", trace=trace)["events"] == [
        [1, "started"],
        [2, "chunk"],
        [3, "chunk"],
        [3 + MAX_UNSTORED_EVENTS, "error"],
    ]


def test_after_the_end_of_a_run_nothing_of_it_is_written(two: Two) -> None:
    trace = begun(two, by_other=True)
    ended, said = two.meanwhile(
        ("end_dead", {"trace": trace}),
        ("say", {"trace": trace, "texts": ["Good", " day"]}),
        hold='INSERT INTO "traces_app_traceevent"',
    )
    assert (ended, said) == ({"ended": 1}, {"lost": True})
    assert two.do("events", trace=trace)["events"] == [
        [1, "started"],
        [1 + MAX_UNSTORED_EVENTS, "error"],
    ]
