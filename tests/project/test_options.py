"""The pipeline's options are the settings of the same names."""

from typing import Any

import pytest

from scenarios_app.engine.document.recorded import MAX_BODY_BYTES
from scenarios_app.serving.services import options


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("require_auth", False),
        ("inband", False),
        ("words_per_second", 0.5),
        ("cancel_after_chunks", 3),
        ("models", ("m",)),
        ("cors_origins", ("https://a.example",)),
        ("max_body_bytes", 7),
        ("max_header_bytes", 7),
        ("max_text_bytes", 7),
        ("max_streams", 7),
        ("max_stream_seconds", 7),
        ("journal_body_bytes", 7),
        ("upstream_paths", ("/v1/files",)),
        ("upstream_seconds", 7),
        ("admin_host", "a.example"),
        ("record_bytes", 7),
    ],
)
def test_option_has_the_value_of_its_setting(settings: Any, name: str, value: Any) -> None:
    assert getattr(options(), name) != value
    setattr(settings, f"MOCKLLM_{name.upper()}", value)
    assert getattr(options(), name) == value


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("MOCKLLM_RECORD_BYTES", MAX_BODY_BYTES + 1, ("record_bytes", MAX_BODY_BYTES)),
        ("MOCKLLM_CLOCK", "2025-01-01T00:00:00Z", ("clock", 1_735_689_600)),
        (
            "MOCKLLM_UPSTREAMS",
            ("ollama=http://a.example",),
            ("upstreams", {"ollama": "http://a.example"}),
        ),
    ],
)
def test_setting_is_converted_for_the_pipeline(
    settings: Any, name: str, value: Any, expected: tuple[str, Any]
) -> None:
    option, converted = expected
    setattr(settings, name, value)
    assert getattr(options(), option) == converted


def test_limits_of_json_are_those_of_the_settings(settings: Any) -> None:
    settings.MOCKLLM_MAX_JSON_DEPTH = 1
    settings.MOCKLLM_MAX_JSON_NODES = 2
    settings.MOCKLLM_MAX_MESSAGES = 3
    limits = options().limits
    assert (limits.depth, limits.nodes, limits.messages) == (1, 2, 3)
