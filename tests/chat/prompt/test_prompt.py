"""The request built from a profile (requirement 002)."""

from dataclasses import dataclass

import pytest

from chat_app.models import ModelProfile
from chat_app.prompt.messages import build_request
from chat_app.values.model_call import ModelRequest, Tool, UserTurn

TURNS = (UserTurn("hello"),)
WEATHER = Tool("weather", "The weather of a city", {"type": "object"})


@dataclass(frozen=True)
class Profile:
    model_id: str = "gpt-4o"
    system_prompt: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    enable_thinking: bool = False
    thinking_budget: int | None = None


def test_ch_t8_the_system_prompt_is_included() -> None:
    request = build_request(Profile(system_prompt="Be kind.\n"), TURNS)
    assert request.system_prompt == "Be kind.\n"


def test_ch_t9_tools_are_added() -> None:
    assert build_request(Profile(), TURNS, tools=[WEATHER]).tools == (WEATHER,)


def test_profile_without_options_sends_no_optional_fields() -> None:
    assert build_request(Profile(), TURNS) == ModelRequest("gpt-4o", TURNS)


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_blank_system_prompt_is_not_sent(prompt: str) -> None:
    assert build_request(Profile(system_prompt=prompt), TURNS).system_prompt == ""


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_temperature_and_max_tokens_are_sent(temperature: float) -> None:
    request = build_request(Profile(temperature=temperature, max_tokens=7), TURNS)
    assert (request.temperature, request.max_tokens) == (temperature, 7)


@pytest.mark.parametrize(
    ("enabled", "budget", "expected"),
    [(True, None, 10_000), (True, 2_000, 2_000), (False, 2_000, None), (False, None, None)],
)
def test_thinking_has_its_budget_when_it_is_enabled(
    enabled: bool, budget: int | None, expected: int | None
) -> None:
    profile = Profile(enable_thinking=enabled, thinking_budget=budget)
    assert build_request(profile, TURNS).thinking_budget == expected


def test_unsaved_profile_can_be_used() -> None:
    profile = ModelProfile(name="x", provider_id="openai", model_id="m", enable_thinking=True)
    assert build_request(profile, TURNS) == ModelRequest("m", TURNS, thinking_budget=10_000)
