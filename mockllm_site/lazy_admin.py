"""Django's admin app, which imports its pages only at the first request for one."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks


class LazyAdmin(SimpleAdminConfig):
    """Replaces `django.contrib.admin` in INSTALLED_APPS; `admin_urls` imports the pages later."""

    def ready(self) -> None:
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(check_pages, checks.Tags.admin)


def check_pages(app_configs: Any, **options: Any) -> Sequence[checks.CheckMessage]:
    """Import every admin page and return the problems that Django's checks find."""
    admin.autodiscover()
    return check_admin_app(app_configs, **options)
