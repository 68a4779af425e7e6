"""Two processes that load or restore scenarios of one name at once."""

from tests.database.two import Two


def test_scenario_that_two_create_at_once_is_replaced_by_the_second(two: Two) -> None:
    first, second = two.meanwhile(
        ("scenario", {"name": "created twice"}),
        ("scenario", {"name": "created twice", "text": "Bye."}),
        hold='INSERT INTO "scenarios_app_scenario"',
    )
    assert first == second
    assert two.do("texts", name="created twice") == {"stored": ["Bye."], "history": ["Bye."]}


def test_scenario_that_two_replace_at_once_is_the_one_of_the_second(two: Two) -> None:
    two.do("scenario", name="replaced twice", text="1")
    two.meanwhile(
        ("scenario", {"name": "replaced twice", "text": "2"}),
        ("scenario", {"name": "replaced twice", "text": "1"}),
        hold='INSERT INTO "scenarios_app_step"',
    )
    assert two.do("texts", name="replaced twice") == {"stored": ["1"], "history": ["1"]}


def test_scenario_that_two_restore_at_once_is_restored_once(two: Two) -> None:
    two.do("scenario", name="restored twice")
    restoring = ("restore", two.do("delete_scenario", name="restored twice"))
    first, second = two.meanwhile(restoring, restoring, hold='INSERT INTO "scenarios_app_scenario"')
    assert (first, second) == ({"restored": "restored twice"}, {"restored": None})
