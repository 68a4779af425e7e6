"""`make screenshots`: takes the pictures in docs/screenshots of a new server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import httpx2
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "screenshots"
PASSWORD = "screenshots"
SCREENS = {"light": (1280, 900, False), "dark": (1280, 900, True), "narrow": (420, 900, False)}
QUESTION = "What is the weather in Paris?"
VOTES = [
    ("demo", "demo-anthropic", "a"),
    ("demo", "demo-anthropic", "b"),
    ("demo-anthropic", "demo-thinking", "b"),
    ("demo", "demo-thinking", "tie"),
    ("demo-thinking", "demo", "a"),
]
SCENARIOS = "/admin/scenarios_app/scenario/"


@contextmanager
def serving(folder: str) -> Iterator[str]:
    """Run a server with the demo scenarios in dev mode; yield its address."""
    variables = {"MOCKLLM_ENV": "dev", "MOCKLLM_ADMIN_PASSWORD": PASSWORD, "DATABASE_URL": ""}
    command = [sys.executable, str(ROOT / "manage.py"), "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=os.environ | variables, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield line.rsplit(" ", 1)[1].strip()
        finally:
            process.terminate()


def main() -> None:
    from tests.support.required_services import chromium

    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, serving(folder) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        conversation, trace = _traffic(url, browser)
        draft = ""
        for screen, (width, height, dark) in SCREENS.items():
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
            )
            page = context.new_page()
            _log_in(page, url)
            page.evaluate("localStorage.setItem('mockllm-client', 'screenshots')")
            draft = draft or _draft(page, url)
            for name, path in _paths(url, conversation, trace, draft=draft).items():
                _take(page, f"{url}{path}", FOLDER / f"{name}-{screen}.png", name=name)
            context.close()
        browser.close()


def _traffic(url: str, browser: Browser) -> tuple[str, str]:
    """Send requests, messages and votes; return the ids of a conversation and its trace."""
    headers = {"Authorization": "Bearer any"}
    for text in (QUESTION, "Is anybody there?", "hello"):
        body: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}
        body["tools"] = [{"type": "function", "function": {"name": "get_weather"}}]
        httpx2.post(f"{url}/v1/chat/completions", json=body, headers=headers)
    sent = {"client_id": "screenshots", "message": QUESTION}
    answer = httpx2.post(f"{url}/api/get_chat_response_stream", json=sent, timeout=60)
    conversation, trace = answer.headers["x-conversation-id"], answer.headers["x-trace-id"]
    for seed, (first_profile, second_profile, preference) in enumerate(VOTES):
        question = {"client_id": "votes", "message": "hello", "seed": seed}
        question |= {"profile_a": first_profile, "profile_b": second_profile}
        compared = httpx2.post(f"{url}/api/ab/stream", json=question, timeout=60).text
        comparison = compared.rsplit('"comparison_id":"', 1)[1].partition('"')[0]
        vote = {"client_id": "votes", "comparison_id": comparison, "preference": preference}
        httpx2.post(f"{url}/api/ab/vote", json=vote).raise_for_status()
    return conversation, trace


def _draft(page: Page, url: str) -> str:
    """Create a draft with changes and return its path."""
    page.goto(f"{url}{SCENARIOS}?q=greeting")
    _open(page, "greeting")
    page.get_by_role("button", name="Edit as draft").click()
    page.wait_for_url("**/draft/**")
    page.get_by_label("Description").fill("Whoever says hello is greeted in the rain.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Draft", exact=True)).to_contain_text("in the rain")
    return urlsplit(page.url).path


def _paths(url: str, conversation: str, trace: str, *, draft: str) -> dict[str, str]:
    return {
        "home": "/",
        "admin": "/admin/",
        "scenarios": SCENARIOS,
        "editor": f"{SCENARIOS}?q=weather",
        "draft": draft,
        "try": f"{SCENARIOS}test/?scenario=weather",
        "gallery": f"{SCENARIOS}new/",
        "play": f"{SCENARIOS}test/?tab=conversation&scenario=weather",
        "journal": "/journal/",
        "playground": f"/chat/?c={conversation}",
        "trace": f"/traces/{trace}/",
        "leaderboard": "/chat/leaderboard/",
    }


def _log_in(page: Page, url: str) -> None:
    page.goto(f"{url}/admin/")
    page.fill("#id_username", "admin")
    page.fill("#id_password", PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/admin/")


def _take(page: Page, url: str, path: Path, *, name: str) -> None:
    page.goto(url)
    match name:
        case "editor":
            _open(page, "weather")
            page.locator(".sc-step summary").first.click()
        case "try":
            page.get_by_label("User message").fill(QUESTION)
            page.get_by_role("button", name="Try", exact=True).click()
            expect(page.locator(".sc-tried-step").first).to_be_visible()
        case "play":
            page.get_by_label("Turn 1: what the user says").fill(QUESTION)
            page.get_by_role("button", name="Play", exact=True).click()
            expect(page.locator(".sc-tried-step").first).to_be_visible()
        case "journal":
            expect(page.locator("#state")).to_have_text("live")
        case "playground":
            expect(page.locator("article.assistant").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.screenshot(path=path)
    print(path.relative_to(ROOT))


def _open(page: Page, name: str) -> None:
    page.locator("#result_list a[href*='/change/']", has_text=name).first.click()


if __name__ == "__main__":
    main()
