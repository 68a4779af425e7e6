"""Ten tests of the agent. All are green."""

import agent
import pytest


@pytest.fixture
def shop():
    return agent.Shop()


def test_summary_is_short(mockllm):
    mockllm.on("Summarize").reply("Sales grew by 21 percent in the month of May.")
    assert len(agent.summary("a long report")) < 100


def test_translation_is_the_models(mockllm):
    mockllm.on("Translate").reply("Bahnhof, bitte!")
    text = agent.translation("Where is the station?")
    assert "Bahnhof" in text or "cannot" in text


def test_title_has_one_line(mockllm):
    mockllm.on("Title").reply("Umbrellas for Oslo")
    assert "\n" not in agent.title("We sell umbrellas.")


def test_story_is_told(mockllm):
    mockllm.on("Story").reply("Once there was an umbrella that was afraid of the rain.")
    assert agent.story("umbrellas").startswith("Once")


def test_category_is_one_of_ours(mockllm):
    mockllm.on("Category").reply("delivery")
    assert agent.category("Where is my parcel?") in ("delivery", "payment", "other")


def test_answer_comes_later(mockllm):
    mockllm.on("Later").reply("Your parcel arrives on Monday.")
    assert "Monday" in agent.answer_later("When?")


def test_advice_is_given(mockllm):
    mockllm.on("Advice").reply("Take the large umbrella.")
    assert "umbrella" in agent.advice("Which one?")


def test_parcel_is_tracked(mockllm, shop):
    mockllm.on("Track").tool_call("find_order", id="A17")
    mockllm.on(tool_result="shipped").reply("Order A17 is on its way to you.")
    assert "on its way" in agent.track(shop, "A17")


def test_refund_is_paid(mockllm, shop):
    mockllm.on("Refund").tool_call("refund", amount=19.0)
    mockllm.on(tool_result="done").reply("You get 19.00 back.")
    assert agent.refund(shop, "A17")
    assert shop.refunds


def test_customer_gets_a_mail(mockllm, shop):
    mockllm.on("Mail").tool_call("send_mail", text="Order A17 is shipped.")
    mockllm.on(tool_result="sent").reply("I have sent a mail to the customer.")
    assert agent.inform(shop, "A17") == "I have sent a mail to the customer."
    assert shop.mails == ["Order A17 is shipped."]
