"""An agent of pydantic-ai, on OpenAI's Chat Completions: `[careful]`."""

import sys

from pydantic_ai import Agent
from tool import QUESTION, get_weather, give_up

agent = Agent("openai-chat:gpt-4o", tools=[get_weather], retries=2)
result = agent.run_sync(QUESTION)
response = result.all_messages()[-1]
if "careful" in sys.argv and response.finish_reason == "length":
    give_up("the answer was cut off: finish_reason length")
if "careful" in sys.argv and response.finish_reason == "content_filter":
    give_up("refused: finish_reason content_filter")
print(result.output)
