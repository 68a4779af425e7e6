"""Plays a scripted user: the model answers each message, and its tools have scripted results."""

import json

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import ScenarioDocument, UserDocument
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.engine.scripted_user import Simulation
from scenarios_app.play.conversation import (
    PlayedToolResultDocument,
    PlayedTurnDocument,
    load_conversation,
)
from scenarios_app.play.player import Player, TurnResponse
from scenarios_app.recording.tools import NotRecorded, RecordedTools
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Catalog

# Rounds of tool calls for one message.
MAX_ROUNDS = 20


async def play_user(
    document: ScenarioDocument, script: UserDocument, *, catalog: Catalog, options: Options
) -> Simulation:
    """Play the script in a new session, with the results that `document` has for its tools; return
    the finished simulation. Nothing is stored or counted."""
    tools = RecordedTools([document])
    names: list[Json] = [tool.name for tool in tools.offered]
    settings = load_conversation({"tools": names, "turns": [{"user": ""}]})
    player = Player(settings, catalog=catalog, options=options)
    simulation = Simulation(script)
    while (text := simulation.next_message()) is not None:
        await _send(text, simulation, player, tools)
    return simulation


async def _send(text: str, simulation: Simulation, player: Player, tools: RecordedTools) -> None:
    """Play one message with its tool calls; add the answer, or the reason why there is none."""
    response = await player.play_turn(PlayedTurnDocument(user=text))
    calls: list[ToolCallPart] = []
    while response.is_complete and response.by_step and response.tool_calls:
        calls += response.tool_calls
        if len(calls) > MAX_ROUNDS:
            return simulation.fail(f"more than {MAX_ROUNDS} tool calls")
        try:
            results = [_recorded_result(call, tools) for call in response.tool_calls]
        except NotRecorded as error:
            return simulation.fail(f"the model calls a tool without a scripted result: {error}")
        response = await player.play_turn(PlayedTurnDocument(tool_results=results))
    if not response.by_step or not response.is_complete:
        return simulation.fail(_describe_failure(response))
    return simulation.add_answer(response.text, calls)


def _recorded_result(call: ToolCallPart, tools: RecordedTools) -> PlayedToolResultDocument:
    """Return the result of a tool call; raises NotRecorded."""
    try:
        arguments = {"input": call.arguments} if call.custom else json.loads(call.arguments)
    except (ValueError, RecursionError):
        raise NotRecorded(f"{call.name} with arguments that are not JSON") from None
    return PlayedToolResultDocument(name=call.name, content=tools.result(call.name, arguments).text)


def _describe_failure(response: TurnResponse) -> str:
    """Return why a model's answer cannot go on the conversation."""
    if not response.by_step:
        return f"no step of the scenario answers: {response.text}"
    if response.status is None or response.cut:
        return "the model's answer breaks off"
    return f"the model answers {response.status}: {response.text}"
