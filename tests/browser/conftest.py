"""Chromium with a running server; requests to other hosts and console errors fail a test."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from mockllm_site.roles import EDITOR
from tests.support.live_server import Live
from tests.support.required_services import chromium

# Containers have neither a sandbox nor much shared memory.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]

# htmx events of a request that was running when its page was left.
ABORTED = {"htmx:afterRequest", "htmx:sendAbort"}

# Time limit of a page on a busy machine, including a process's first imports.
expect.set_options(timeout=30_000)

# The role that stands for a superuser.
OPERATOR = "operator"

OpenPage: TypeAlias = Callable[..., Page]


@dataclass(frozen=True)
class Admin:
    """A page of the admin with a logged-in user."""

    page: Page
    live: Live

    def go(self, path: str = "") -> None:
        self.page.goto(f"{self.live.base_url}/admin/{path}")

    def save(self) -> None:
        # The script that keeps the form writes to the history, which counts as a navigation.
        self.page.wait_for_function("history.state?.keptForm")
        # The page asks for its session before it posts the form.
        with self.page.expect_navigation():
            self.page.get_by_role("button", name="Save", exact=True).click()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Start a browser for this package; each test has its own contexts.

    Playwright runs an event loop in this thread, so tests outside the package need it stopped.
    """
    path = chromium()
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright runs an event loop in this thread, where Django refuses queries.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, live: Live) -> Iterator[OpenPage]:
    """Return a function that opens pages; check their requests and console messages afterwards."""
    requested: list[str] = []
    console: list[str] = []

    def make(
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        allow_failed_requests: bool = False,
    ) -> Page:
        """Open a page; `allow_failed_requests` ignores console messages about failed requests
        and scripts."""
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("request", lambda request: requested.append(request.url))

        def record_console(message: ConsoleMessage) -> None:
            expected = message.text in ABORTED or (
                allow_failed_requests
                and message.text.startswith(("Failed to load resource", "Blocked script execution"))
            )
            if message.type in ("error", "warning") and not expected:
                console.append(message.text)

        page.on("console", record_console)
        page.on("pageerror", lambda error: console.append(str(error)))
        return page

    yield make
    for context in browser.contexts:
        context.close()
    foreign_urls = [
        url for url in requested if not url.startswith((f"{live.base_url}/", "data:", "blob:"))
    ]
    assert foreign_urls == []
    assert console == []


@pytest.fixture
def log_in(open_page: OpenPage, live: Live) -> Callable[..., Admin]:
    """Return a function that opens the admin as a user of a role, by default an editor."""

    def enter(role: str = EDITOR, **screen: int | bool) -> Admin:
        is_operator = role == OPERATOR
        user, created = User.objects.get_or_create(
            username=role, is_staff=True, is_superuser=is_operator
        )
        if created and not is_operator:
            user.groups.add(Group.objects.get(name=role))
        client = Client()
        client.force_login(user)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        page = open_page(**screen)
        cookie = {"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live.base_url}
        page.context.add_cookies([cookie])
        page.goto(f"{live.base_url}/admin/")
        return Admin(page, live)

    return enter


@pytest.fixture
def admin(log_in: Callable[..., Admin]) -> Admin:
    return log_in()
