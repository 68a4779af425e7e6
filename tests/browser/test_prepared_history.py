"""A history that is prepared in the admin, exported, loaded again and continued by the chat."""

from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import expect

from chat_app.models import Conversation, Message, ModelProfile
from tests.browser.conftest import Admin
from tests.chat.api.comparison_helpers import prompt_of
from tests.chat.chat_helpers import scenario

pytestmark = pytest.mark.browser

WEATHER = '[{"name": "get_weather", "arguments": {"city": "Oslo"}, "result": "rain"}]'


def rows() -> list[dict[str, object]]:
    return [*Conversation.objects.values(), *Message.objects.order_by("number").values()]


def test_prepared_history_is_exported_loaded_and_continued(admin: Admin, tmp_path: Path) -> None:
    ModelProfile.objects.get_or_create(
        name="demo", defaults={"provider_id": "openai", "model_id": "m", "base_url": "mock:"}
    )
    page = admin.page
    admin.go("chat_app/conversation/add/")
    page.get_by_label("Client id").fill("qa")
    page.locator("#id_new-0-content").fill("Is it raining?\nIn Oslo.")
    page.locator("#id_new-1-content").fill("It is.")
    page.locator("#id_new-1-tool_calls").fill(WEATHER)
    page.get_by_role("link", name="Add another New message").click()
    page.locator("#id_new-2-content").fill("Thanks.")
    admin.save()
    assert list(Message.objects.order_by("number").values_list("sender", flat=True)) == [
        "user", "assistant", "user",
    ]  # fmt: skip
    before = rows()
    admin.go(f"chat_app/conversation/{Conversation.objects.get().pk}/change/")
    admin.save()
    page.goto(
        f"{admin.live.base_url}/admin/chat_app/message/{Message.objects.get(number=2).pk}/change/"
    )
    admin.save()
    assert rows() == before
    admin.go("chat_app/conversation/")
    page.locator("input.action-select").first.check()
    page.locator("select[name=action]").select_option("export_fixture")
    with page.expect_download() as download:
        page.get_by_role("button", name="Run", exact=False).first.click()
    file = tmp_path / "conversations.json"
    download.value.save_as(file)
    conversation_id = str(Conversation.objects.get().pk)
    Conversation.objects.all().delete()
    call_command("loaddata", file, verbosity=0)
    admin.live.load(scenario({"text": "You are welcome."}))
    page.goto(f"{admin.live.base_url}/chat/")
    # The browser's own id is random.
    page.evaluate("localStorage.setItem('mockllm-client', 'qa')")
    page.reload()
    page.locator("#conversations").get_by_text("Is it raining?").first.click()
    expect(page.locator("#messages")).to_contain_text("Thanks.")
    page.locator("#message").fill("Bye.")
    page.locator("#message").press("Enter")
    expect(page.locator("#messages")).to_contain_text("You are welcome.")
    roles = [message["role"] for message in prompt_of(conversation_id)]
    assert roles[-6:] == ["user", "assistant", "tool", "assistant", "user", "user"]
    admin.go(f"chat_app/conversation/{conversation_id}/change/")
    expect(page.get_by_role("link", name="You are welcome.")).to_be_visible()
