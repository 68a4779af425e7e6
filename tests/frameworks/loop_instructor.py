"""instructor without a script: typed answers by a forced tool, by JSON and by a schema."""

import os
from typing import Literal

import anthropic
import instructor
import openai
from pydantic import BaseModel, Field

URL, KEY = os.environ["MOCKLLM_URL"], "sk-instructor"
MESSAGES = [{"role": "user", "content": "Tell me a city"}]


class City(BaseModel):
    """A city, how many people live there, and what else is near."""

    name: str = Field(pattern="^[A-Z][a-z]+$")
    people: int = Field(ge=1_000, le=2_000)
    kind: Literal["capital", "port"]
    near: list["City"] = Field(max_length=2)


for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA):
    client = instructor.from_openai(
        openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0), mode=mode
    )
    city = client.chat.completions.create(
        model="gpt-4o", messages=MESSAGES, response_model=City, max_retries=0
    )
    assert isinstance(city, City), city
    print(f"openai {mode.name}: passed")

claude = instructor.from_anthropic(anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0))
city = claude.messages.create(
    model="claude-sonnet-4-5",
    max_tokens=4_000,
    messages=MESSAGES,
    response_model=City,
    max_retries=0,
)
assert isinstance(city, City), city
print("anthropic: passed")
