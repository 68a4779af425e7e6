"""Which steps answered in a played conversation."""

from scenarios_app.play.player import PlayedConversation


def answering_steps(run: PlayedConversation) -> set[tuple[str, str]]:
    """The scenario and label of each step that answered."""
    return {(turn.response.scenario, turn.response.step) for turn in run.turns}
