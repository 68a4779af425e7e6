"""The server closes connections of a process, during a write or between two writes."""

from tests.database.process_pair import ProcessPair

EVENTS_TABLE = "traces_app_traceevent"


def start_run(processes: ProcessPair) -> str:
    conversation = processes.run("conversation")["id"]
    return str(processes.run("send", conversation=conversation, text="Hello")["trace"])


def test_journal_reconnects_and_loses_nothing(processes: ProcessPair) -> None:
    paths = ["/1", "/2", "/3"]
    result = processes.run_with_closed_connection(
        "record", paths=paths, table="scenarios_app_servedrequest"
    )
    assert result == {"flushed": True, "failed": 0, "paths": paths}


def test_delayed_run_rows_are_written_before_newer_ones(processes: ProcessPair) -> None:
    trace = start_run(processes)
    result = processes.run_with_closed_connection("say_on", trace=trace, table=EVENTS_TABLE)
    assert result == {"problems": ["OperationalError"], "ended": True}
    assert processes.run("write_order", trace=trace) == {"seqs": [1, 2, 3, 4], "tokens": [2]}


def test_run_reconnects_before_it_writes(processes: ProcessPair) -> None:
    trace = start_run(processes)
    processes.close_connections()
    assert processes.run("say", trace=trace, texts=["Good", " day"]) == {"lost": False}
