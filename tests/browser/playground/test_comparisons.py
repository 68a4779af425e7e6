"""Comparisons in the playground: blind answers, votes and reconnection."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from chat_app.models import ABComparison, ModelProfile
from tests.browser.axe import violations
from tests.browser.playground.conftest import Playground
from tests.chat.chat_helpers import scenario

pytestmark = pytest.mark.browser


def test_two_answers_are_compared_blind_and_voted_on(playground: Playground) -> None:
    for name in ("one", "two"):
        ModelProfile.objects.create(
            name=name, provider_id="openai", model_id=f"model-{name}", base_url="mock:"
        )
        step = {"match": {"model": f"model-{name}"}, "produce": {"text": f"I am {name}."}}
        playground.live.load({"name": name, "steps": [step]})
    page = playground.page
    playground.go()
    page.click("#compare")
    page.select_option("#profile", "one")
    page.select_option("#profile-b", "two")
    playground.say("Who are you?")
    columns = page.locator(".pair article[data-status=complete]")
    expect(columns).to_have_count(2)
    expect(columns.first.locator(".branch")).to_have_text("Answer A")
    page.reload()
    expect(columns.first.locator(".branch")).to_have_text("Answer A")
    expect(page.get_by_role("button", name="Regenerate")).to_have_count(0)
    assert violations(page) == []
    page.click("[data-vote=b]")
    expect(page.locator(".vote .tag")).to_have_text("You preferred B.")
    row = ABComparison.objects.get()
    expect(columns.last.locator(".branch")).to_have_text(f"Answer B: {row.profile_b_name}")
    assert row.preference == "b"
    page.locator(".vote a").click()
    expect(page.locator("tbody tr").first).to_contain_text(row.profile_b_name)


def test_comparison_survives_its_stream(playground: Playground, settings: Any) -> None:
    settings.MOCKLLM_MAX_STREAM_SECONDS = 0.5
    words = " ".join(f"word{number}" for number in range(30))
    pacing = {"words_per_second": 20, "words_per_chunk": 1}
    step = {"consume": False, "produce": {"text": words, "pacing": pacing}}
    playground.live.load({"name": "slow", "steps": [step]})
    ModelProfile.objects.create(
        name="second", provider_id="openai", model_id="gpt-5", base_url="mock:"
    )
    page = playground.page
    playground.go()
    page.click("#compare")
    playground.say("Go on")
    expect(page.locator(".pair article[data-status=complete] .text")).to_have_text([words, words])
    page.click("[data-vote=tie]")
    expect(page.locator(".vote .tag")).to_have_text("You called it a tie.")


def test_comparison_needs_two_profiles_and_links_to_the_leaderboard(
    playground: Playground,
) -> None:
    ModelProfile.objects.create(
        name="second", provider_id="openai", model_id="gpt-5", base_url="mock:"
    )
    playground.live.load(scenario({"text": "One"}))
    playground.go()
    playground.page.click("#compare")
    profile, other = (playground.page.locator(f"#{name}") for name in ("profile", "profile-b"))
    assert profile.input_value() != other.input_value()
    selected_profile = profile.input_value()
    expect(other.locator("option:checked")).not_to_have_text(selected_profile)
    expect(other.locator("option", has_text=re.compile(f"^{selected_profile}$"))).to_be_disabled()
    playground.say("Hello")
    expect(playground.page.locator(".vote")).to_contain_text("counts in the leaderboard")
