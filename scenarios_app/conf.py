"""Reads Django settings of the mock. A project without ours has the defaults of prod."""

from typing import Any, Final

from django.conf import settings
from django.core.signals import setting_changed

from mockllm_site.kit.settings_table import DEFAULTS

_cache: Final[dict[str, Any]] = {}


def setting(name: str) -> Any:
    """Return the value of a setting, cached: Django's lookup costs time in every request."""
    try:
        return _cache[name]
    except KeyError:
        # The clock is set by test mode alone, not by the environment.
        default = None if name == "MOCKLLM_CLOCK" else getattr(DEFAULTS, name)
        return _cache.setdefault(name, getattr(settings, name, default))


def admin_cookies() -> frozenset[str]:
    """Return the names of the cookies with which people are logged in to the admin."""
    return frozenset({settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME})


def _clear_cache(**_: object) -> None:
    """Drop the cached values when a test overrides a setting."""
    _cache.clear()


setting_changed.connect(_clear_cache)
