"""Two processes put a scenario of the same new name."""

from tests.database.process_pair import ProcessPair


def test_second_of_two_concurrent_puts_replaces_the_first(processes: ProcessPair) -> None:
    first, second = processes.run_concurrently(
        ("put", {"name": "put twice", "text": "one"}),
        ("put", {"name": "put twice", "text": "two"}),
        hold='INSERT INTO "scenarios_app_scenario"',
    )
    assert (first, second) == ({"new": True}, {"new": False})
    assert processes.run("scenarios", name="put twice")["scenarios"] == 1
