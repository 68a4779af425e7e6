"""The server closes connections of a process: while it writes, or between two writes."""

from tests.database.two import Two

EVENTS = "traces_app_traceevent"


def begun(two: Two) -> str:
    conversation = two.do("conversation")["id"]
    return str(two.do("send", conversation=conversation, text="Hello")["trace"])


def test_the_journal_opens_a_connection_anew_and_loses_nothing(two: Two) -> None:
    paths = ["/1", "/2", "/3"]
    said = two.cut_off("record", paths=paths, at="scenarios_app_servedrequest")
    assert said == {"flushed": True, "failed": 0, "paths": paths}


def test_delayed_run_rows_are_written_before_newer_ones(two: Two) -> None:
    trace = begun(two)
    said = two.cut_off("say_on", trace=trace, at=EVENTS)
    assert said == {"problems": ["OperationalError"], "ended": True}
    assert two.do("written", trace=trace) == {"seqs": [1, 2, 3, 4], "tokens": [2]}


def test_runs_open_a_connection_anew_before_they_write(two: Two) -> None:
    trace = begun(two)
    two.close_all()
    assert two.do("say", trace=trace, texts=["Good", " day"]) == {"lost": False}
