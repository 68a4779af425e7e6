"""What the settings say of the mock; a project of others, which says nothing, has the defaults."""

from types import MappingProxyType
from typing import Any, Final

from django.conf import settings
from django.core.signals import setting_changed

# Those of `mockllm_site.settings` in prod, where the environment says nothing either.
DEFAULTS: Final = MappingProxyType(
    {
        "REDIS_URL": "",
        "MOCKLLM_CLOCK": None,
        "MOCKLLM_REQUIRE_AUTH": True,
        "MOCKLLM_INBAND": True,
        "MOCKLLM_WORDS_PER_SECOND": 50.0,
        "MOCKLLM_CANCEL_AFTER_CHUNKS": None,
        "MOCKLLM_MODELS": (),
        "MOCKLLM_CORS_ORIGINS": (),
        "MOCKLLM_MAX_BODY_BYTES": 10_485_760,
        "MOCKLLM_MAX_JSON_DEPTH": 64,
        "MOCKLLM_MAX_JSON_NODES": 200_000,
        "MOCKLLM_MAX_MESSAGES": 10_000,
        "MOCKLLM_MAX_HEADER_BYTES": 16_384,
        "MOCKLLM_MAX_TEXT_BYTES": 2_097_152,
        "MOCKLLM_MAX_SESSIONS": 100_000,
        "MOCKLLM_MAX_STREAMS": 2_000,
        "MOCKLLM_MAX_STREAM_SECONDS": 600,
        "MOCKLLM_MAX_LATENCY_MS": 600_000,
        "MOCKLLM_JOURNAL_ROWS": 10_000,
        "MOCKLLM_JOURNAL_BODY_BYTES": 65_536,
        "MOCKLLM_UPSTREAMS": (),
        "MOCKLLM_UPSTREAM_PATHS": (),
        "MOCKLLM_UPSTREAM_SECONDS": 600.0,
        "MOCKLLM_RECORD_BYTES": 10_000_000,
    }
)


_known: Final[dict[str, Any]] = {}


def setting(name: str) -> Any:
    """What a setting says. Django looks through its own layers each time, which every request would
    pay for."""
    try:
        return _known[name]
    except KeyError:
        return _known.setdefault(name, getattr(settings, name, DEFAULTS[name]))


def _forget(**_: object) -> None:
    """A test has another value for a setting."""
    _known.clear()


setting_changed.connect(_forget)
