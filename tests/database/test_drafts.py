"""Two processes at one draft: it is asked for by both, and published by both."""

from tests.database.two import Two


def test_two_who_ask_for_a_draft_at_once_get_the_same_one(two: Two) -> None:
    pk = two.do("scenario", name="asked for twice")["pk"]
    first, second = two.meanwhile(
        ("draft", {"scenario": pk}),
        ("draft", {"scenario": pk}),
        hold='INSERT INTO "scenarios_app_draft"',
    )
    assert first["made"]
    assert second == {"pk": first["pk"], "made": False}


def test_a_draft_is_published_once(two: Two) -> None:
    pk = two.do("scenario", name="published twice")["pk"]
    draft = two.do("draft", scenario=pk)["pk"]
    publishing = ("publish", {"draft": draft, **two.do("look", draft=draft)})
    first, second = two.meanwhile(publishing, publishing, hold='DELETE FROM "scenarios_app_draft"')
    assert first == {"published": "published twice"}
    assert second == {"refused": "It has been published or discarded in the meantime."}


def test_a_draft_of_no_scenario_becomes_one(two: Two) -> None:
    draft = two.do("new_draft", name="new")["pk"]
    publishing = ("publish", {"draft": draft, **two.do("look", draft=draft)})
    first, second = two.meanwhile(
        publishing, publishing, hold='INSERT INTO "scenarios_app_scenario"'
    )
    assert first == {"published": "new"}
    assert second == {"refused": "It has been published or discarded in the meantime."}
    assert two.do("scenarios", name="new") == {"scenarios": 1, "drafts": 0}
