"""A browser for this folder, which `make test` runs, as tests/browser has one."""

from tests.browser.conftest import admin, browser, log_in, open_page

__all__ = ["admin", "browser", "log_in", "open_page"]
