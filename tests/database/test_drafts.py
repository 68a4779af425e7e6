"""Two processes create or publish the same draft."""

from tests.database.process_pair import ProcessPair


def test_concurrent_requests_for_a_draft_get_the_same_one(processes: ProcessPair) -> None:
    pk = processes.run("scenario", name="asked for twice")["pk"]
    first, second = processes.run_concurrently(
        ("draft", {"scenario": pk}),
        ("draft", {"scenario": pk}),
        hold='INSERT INTO "scenarios_app_draft"',
    )
    assert first["created"]
    assert second == {"pk": first["pk"], "created": False}


def test_a_draft_is_published_once(processes: ProcessPair) -> None:
    pk = processes.run("scenario", name="published twice")["pk"]
    draft = processes.run("draft", scenario=pk)["pk"]
    publish_operation = ("publish", {"draft": draft, **processes.run("plan", draft=draft)})
    first, second = processes.run_concurrently(
        publish_operation, publish_operation, hold='DELETE FROM "scenarios_app_draft"'
    )
    assert first == {"published": "published twice"}
    assert second == {"refused": "It has been published or discarded in the meantime."}


def test_draft_of_no_scenario_is_published_once(processes: ProcessPair) -> None:
    draft = processes.run("new_draft", name="new")["pk"]
    publish_operation = ("publish", {"draft": draft, **processes.run("plan", draft=draft)})
    first, second = processes.run_concurrently(
        publish_operation, publish_operation, hold='INSERT INTO "scenarios_app_scenario"'
    )
    assert first == {"published": "new"}
    assert second == {"refused": "It has been published or discarded in the meantime."}
    assert processes.run("scenarios", name="new") == {"scenarios": 1, "drafts": 0}
