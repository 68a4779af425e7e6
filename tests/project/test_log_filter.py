"""Secrets in URLs and headers are masked in every log record."""

import logging
import sys
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from mockllm_site.log_filter import MaskingFormatter, mask_secrets

SECRET = "canary-0123456789"


@pytest.mark.parametrize(
    "name",
    ["key", "api_key", "access_token", "X-Auth-Token", "client_secret", "password", "sig", "KEY"],
)
@pytest.mark.parametrize("before", ["/v1beta/models?", "https://host/v1?alt=sse&"])
def test_secret_parameters_are_masked(name: str, before: str) -> None:
    line = mask_secrets(f'"GET {before}{name}={SECRET}&after=1 HTTP/1.1" 404')
    assert SECRET not in line
    assert line.endswith(f'{name}=***&after=1 HTTP/1.1" 404')


def test_bearer_tokens_are_masked() -> None:
    assert mask_secrets(f"got 'authorization: Bearer {SECRET}', refused").count(SECRET) == 0


def test_other_parameters_stay() -> None:
    line = '"GET /control/requests?session=default&limit=5 HTTP/1.1" 200'
    assert mask_secrets(line) == line.replace("session=default", "session=***")
    assert mask_secrets("/journal/?page=2&model=gpt") == "/journal/?page=2&model=gpt"


@pytest.mark.parametrize(
    ("message", "args"),
    [("Not Found: %s", (f"/v1?key={SECRET}",)), (f"/v1?key={SECRET}", ()), ("%(a)s", None)],
)
def test_arguments_are_masked_as_well(message: str, args: Any) -> None:
    log_args = ({"a": f"?key={SECRET}"},) if args is None else args
    record = logging.LogRecord("any", logging.INFO, __file__, 1, message, log_args, None)
    assert SECRET not in MaskingFormatter().format(record)


def test_secrets_in_tracebacks_are_masked() -> None:
    try:
        raise ValueError(f"no answer from https://host/v1?key={SECRET}")
    except ValueError:
        record = logging.LogRecord("any", 40, __file__, 1, "failed", (), sys.exc_info())
    text = MaskingFormatter().format(record)
    assert "ValueError: no answer" in text and SECRET not in text


@pytest.mark.timeout(10)
@pytest.mark.parametrize("part", ["?key", "?", "&key", "key", "bearer "])
def test_long_texts_are_masked_in_linear_time(part: str) -> None:
    text = f"Not Found: /x?{part * 20_000}"
    assert mask_secrets(f"{text}&key={SECRET}").endswith("&key=***")


def test_every_log_handler_masks_secrets() -> None:
    handlers = settings.LOGGING["handlers"].values()
    assert {handler["formatter"] for handler in handlers} == {"line"}
    formatter = settings.LOGGING["formatters"]["line"]["()"]
    assert formatter == f"{MaskingFormatter.__module__}.{MaskingFormatter.__name__}"


def test_a_foreign_host_is_one_line(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
    (record,) = [
        record for record in caplog.records if record.name == "django.security.DisallowedHost"
    ]
    assert "evil.example" in record.getMessage() and record.exc_info is None
