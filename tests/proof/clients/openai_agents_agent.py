"""An agent of openai-agents, on OpenAI's Responses: `[careful]`."""

import sys

from agents import Agent, Runner, function_tool, set_tracing_disabled
from tool import QUESTION, get_weather, give_up

set_tracing_disabled(True)
agent = Agent(name="weather", model="gpt-4o", tools=[function_tool(get_weather)])
result = Runner.run_sync(agent, QUESTION)
if "careful" in sys.argv:
    for part in (part for item in result.raw_responses[-1].output for part in item.content):
        if part.type == "refusal":
            give_up(f"refused: {part.refusal}")
    if not result.final_output:
        give_up("the answer is empty")
print(result.final_output)
