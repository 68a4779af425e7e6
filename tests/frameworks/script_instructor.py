"""instructor: typed answers by a forced tool, by JSON and by a schema."""

import os

import anthropic
import instructor
import openai
from pydantic import BaseModel

URL, KEY = os.environ["MOCKLLM_URL"], "sk-instructor"
PARIS = {"name": "Paris", "people": 2_100_000}
MESSAGES = [{"role": "user", "content": "Tell me a city"}]


class City(BaseModel):
    """A city and how many people live there."""

    name: str
    people: int


for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON, instructor.Mode.JSON_SCHEMA):
    client = instructor.from_openai(
        openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0), mode=mode
    )
    city = client.chat.completions.create(model="gpt-4o", messages=MESSAGES, response_model=City)
    assert city.model_dump() == PARIS, city
    print(f"openai {mode.name}: passed")

claude = instructor.from_anthropic(anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0))
city = claude.messages.create(
    model="claude-sonnet-4-5", max_tokens=99, messages=MESSAGES, response_model=City
)
assert city.model_dump() == PARIS, city
print("anthropic: passed")
