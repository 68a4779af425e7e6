"""Two processes vote on one comparison."""

import pytest

from tests.database.two import Two


@pytest.fixture
def comparison(two: Two) -> str:
    """One whose answers are complete."""
    conversation = two.do("conversation")["id"]
    found = two.do("compare", conversation=conversation)
    assert two.do("complete", traces=found["traces"]) == {"runs": 2}
    return str(found["comparison"])


@pytest.mark.parametrize(
    ("preference", "answer"), [("a", {"preference": "a"}), ("b", {"refused": "CONFLICT"})]
)
def test_of_two_votes_at_once_the_first_counts(
    two: Two, comparison: str, preference: str, answer: dict[str, str]
) -> None:
    first, second = two.meanwhile(
        ("vote", {"comparison": comparison, "preference": "a"}),
        ("vote", {"comparison": comparison, "preference": preference}),
        hold='UPDATE "chat_app_abcomparison"',
    )
    assert (first, second) == ({"preference": "a"}, answer)
    assert two.do("votes", comparison=comparison) == {"stored": "a"}
