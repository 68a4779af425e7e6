"""An agent of LangChain (LangGraph), on OpenAI's Chat Completions: `[careful]`."""

import sys

from langchain.agents import create_agent
from tool import QUESTION, get_weather, give_up

agent = create_agent("openai:gpt-4o", [get_weather])
message = agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1]
if "careful" in sys.argv:
    if message.response_metadata.get("finish_reason") == "length":
        give_up("the answer was cut off: finish_reason length")
    if refusal := message.additional_kwargs.get("refusal"):
        give_up(f"refused: {refusal}")
    if not message.text:
        give_up("the answer is empty")
print(message.text)
