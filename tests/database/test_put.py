"""Two processes put a scenario of the same new name at once."""

from tests.database.two import Two


def test_second_of_two_scenarios_put_at_once_replaces_the_first(two: Two) -> None:
    first, second = two.meanwhile(
        ("put", {"name": "put twice", "text": "one"}),
        ("put", {"name": "put twice", "text": "two"}),
        hold='INSERT INTO "scenarios_app_scenario"',
    )
    assert (first, second) == ({"new": True}, {"new": False})
    assert two.do("scenarios", name="put twice")["scenarios"] == 1
