"""Masks secrets in the log, and drops tracebacks of errors that only a client caused."""

import logging
import re

from django.http import HttpRequest

from scenarios_app.engine.secrets import STEMS

MASK = "***"
_NAMES = "|".join((*STEMS, "sig"))
# Linear in the text, of which clients write a part: no part of a name is tried twice.
_PARAMETER = re.compile(rf"(?i)([?&](?=[^?=&\s]*?(?:{_NAMES}))[^?=&\s]*=)[^&\s\"']+")
_BEARER = re.compile(r"(?i)(bearer\s+)[^\s\"',]+")


class MaskingFormatter(logging.Formatter):
    """A log formatter that masks secrets in the whole text of a record, also in its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return mask_secrets(super().format(record))


class WithoutTraceback(logging.Filter):
    """A log filter that removes the traceback of each record and drops none."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = record.exc_text = None
        return True


class WithoutScriptedErrors(logging.Filter):
    """A log filter that drops the errors that providers answered, and none with a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        # Imported late: logging is set up before the apps.
        from mockllm_site.middleware.provider_requests import is_provider_request

        request: HttpRequest | None = getattr(record, "request", None)
        return bool(record.exc_info) or request is None or not is_provider_request(request)


def mask_secrets(text: str) -> str:
    """Return a text with MASK for the values of secret query parameters and bearer tokens."""
    return _BEARER.sub(rf"\1{MASK}", _PARAMETER.sub(rf"\1{MASK}", text))
