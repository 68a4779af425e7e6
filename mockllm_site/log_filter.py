"""Masks secrets in the log, and drops tracebacks of errors that only a client caused."""

import logging
import re

from scenarios_app.engine.secrets import STEMS

MASK = "***"
_NAMES = "|".join((*STEMS, "sig"))
_PARAMETER = re.compile(rf"(?i)([?&][^=&\s]*?(?:{_NAMES})[^=&\s]*=)[^&\s\"']+")
_BEARER = re.compile(r"(?i)(bearer\s+)[^\s\"',]+")


class WithoutSecrets(logging.Filter):
    """A log filter that masks secrets in each record's formatted message."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        safe = mask_secrets(message)
        if safe != message:
            record.msg, record.args = safe, None
        return True


class WithoutTraceback(logging.Filter):
    """A log filter that cuts each record to one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = record.exc_text = None
        return True


def mask_secrets(text: str) -> str:
    """Return a text of the log with the values of secret parameters and tokens masked."""
    return _BEARER.sub(rf"\1{MASK}", _PARAMETER.sub(rf"\1{MASK}", text))
