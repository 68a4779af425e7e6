"""Two processes load or restore scenarios of the same name."""

from tests.database.process_pair import ProcessPair


def test_second_of_two_concurrent_creations_replaces_the_first(processes: ProcessPair) -> None:
    first, second = processes.run_concurrently(
        ("scenario", {"name": "created twice"}),
        ("scenario", {"name": "created twice", "text": "Bye."}),
        hold='INSERT INTO "scenarios_app_scenario"',
    )
    assert first == second
    assert processes.run("texts", name="created twice") == {"stored": ["Bye."], "history": ["Bye."]}


def test_second_of_two_concurrent_loads_replaces_the_first(processes: ProcessPair) -> None:
    processes.run("scenario", name="replaced twice", text="1")
    processes.run_concurrently(
        ("scenario", {"name": "replaced twice", "text": "2"}),
        ("scenario", {"name": "replaced twice", "text": "1"}),
        hold='INSERT INTO "scenarios_app_step"',
    )
    assert processes.run("texts", name="replaced twice") == {"stored": ["1"], "history": ["1"]}


def test_concurrent_restores_restore_a_scenario_once(processes: ProcessPair) -> None:
    processes.run("scenario", name="restored twice")
    restore_operation = ("restore", processes.run("delete_scenario", name="restored twice"))
    first, second = processes.run_concurrently(
        restore_operation, restore_operation, hold='INSERT INTO "scenarios_app_scenario"'
    )
    assert (first, second) == ({"restored": "restored twice"}, {"restored": None})
