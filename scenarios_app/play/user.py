"""Plays a scripted user against the scenarios: the agent passes each message to the model, runs the
tools whose results are scripted, and shows the model's text."""

import json
from collections.abc import Iterator, Sequence

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import ScenarioDocument
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.engine.scripted_user import Simulation, UserScript
from scenarios_app.play.conversation import ConversationDocument, load_conversation
from scenarios_app.play.player import Player, TurnResponse
from scenarios_app.recording.tools import NotRecorded, RecordedTools
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Catalog

# Rounds of tool calls for one message.
MAX_ROUNDS = 20


async def play_user(
    document: ScenarioDocument, script: UserScript, *, catalog: Catalog, options: Options
) -> Simulation:
    """Play the script in a new session; nothing is stored or counted."""
    tools = RecordedTools([document])
    settings = load_conversation(
        {"tools": [tool.name for tool in tools.offered], "turns": [{"user": ""}]}
    )
    agent = _DryAgent(settings, tools, catalog=catalog, options=options)
    simulation = Simulation(script)
    while (text := simulation.next_message()) is not None:
        await agent.answer(text, simulation)
    return simulation


class _DryAgent:
    def __init__(
        self,
        settings: ConversationDocument,
        tools: RecordedTools,
        *,
        catalog: Catalog,
        options: Options,
    ) -> None:
        self._tools = tools
        self._player = Player(settings, catalog=catalog, options=options)

    async def answer(self, text: str, simulation: Simulation) -> None:
        """Add the agent's answer to the simulation, or why it has none."""
        response = await self._send({"user": text})
        calls: list[ToolCallPart] = []
        while response.is_complete and response.by_step and response.tool_calls:
            calls += response.tool_calls
            if len(calls) > MAX_ROUNDS:
                return simulation.fail(f"more than {MAX_ROUNDS} tool calls")
            try:
                results = list(self._results(response.tool_calls))
            except NotRecorded as error:
                return simulation.fail(f"the model calls a tool without a scripted result: {error}")
            response = await self._send({"tool_results": results})
        if not response.by_step or not response.is_complete:
            return simulation.fail(_describe(response))
        return simulation.add_answer(response.text, calls)

    async def _send(self, turn: dict[str, Json]) -> TurnResponse:
        conversation = load_conversation({"turns": [turn]})
        return await self._player.respond(conversation.turns[0])

    def _results(self, calls: Sequence[ToolCallPart]) -> Iterator[Json]:
        """Yield the results of tool calls; raises NotRecorded."""
        for call in calls:
            try:
                arguments = {"input": call.arguments} if call.custom else json.loads(call.arguments)
            except ValueError:
                raise NotRecorded(f"{call.name} with arguments that are not JSON") from None
            result = self._tools.result(call.name, arguments)
            yield {"name": call.name, "content": result.text}


def _describe(response: TurnResponse) -> str:
    if not response.by_step:
        return f"no step of the scenario answers: {response.text}"
    if response.status is None or response.cut:
        return "the model's answer breaks off"
    return f"the model answers {response.status}: {response.text}"
