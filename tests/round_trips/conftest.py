"""The browser fixtures of tests/browser, for the tests of this folder."""

from tests.browser.conftest import admin, browser, log_in, open_page

__all__ = ["admin", "browser", "log_in", "open_page"]
