"""Reads Django settings of the mock. A project without ours has the defaults of prod."""

from types import MappingProxyType
from typing import Any, Final

from django.conf import settings
from django.core.signals import setting_changed

from mockllm_site.kit.settings_table import SETTINGS

# The clock is set by test mode alone, not by the environment.
DEFAULTS: Final = MappingProxyType(
    {"MOCKLLM_CLOCK": None}
    | {
        name: setting.prod_value()
        for name, setting in SETTINGS.items()
        if name.startswith("MOCKLLM_") and name != "MOCKLLM_ENV"
    }
    | {"REDIS_URL": SETTINGS["REDIS_URL"].prod_value()}
)
_cache: Final[dict[str, Any]] = {}


def setting(name: str) -> Any:
    """Return the value of a setting, cached: Django's lookup costs time in every request."""
    try:
        return _cache[name]
    except KeyError:
        return _cache.setdefault(name, getattr(settings, name, DEFAULTS[name]))


def _clear_cache(**_: object) -> None:
    """Drop the cached values when a test overrides a setting."""
    _cache.clear()


setting_changed.connect(_clear_cache)
