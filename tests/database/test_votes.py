"""Two processes vote on one comparison."""

import pytest

from tests.database.process_pair import ProcessPair


@pytest.fixture
def comparison(processes: ProcessPair) -> str:
    """Return a comparison whose answers are complete."""
    conversation = processes.run("conversation")["id"]
    pair = processes.run("compare", conversation=conversation)
    assert processes.run("complete", traces=pair["traces"]) == {"runs": 2}
    return str(pair["comparison"])


@pytest.mark.parametrize(
    ("preference", "answer"), [("a", {"preference": "a"}), ("b", {"refused": "CONFLICT"})]
)
def test_first_of_two_concurrent_votes_counts(
    processes: ProcessPair, comparison: str, preference: str, answer: dict[str, str]
) -> None:
    first, second = processes.run_concurrently(
        ("vote", {"comparison": comparison, "preference": "a"}),
        ("vote", {"comparison": comparison, "preference": preference}),
        hold='UPDATE "chat_app_abcomparison"',
    )
    assert (first, second) == ({"preference": "a"}, answer)
    assert processes.run("votes", comparison=comparison) == {"stored": "a"}
