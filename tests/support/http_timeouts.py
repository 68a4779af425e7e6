"""Sets the default timeout of HTTP clients in tests: five seconds are too short on a busy
machine."""

import httpx
import httpx2

SECONDS = 60.0


def install() -> None:
    for default in (httpx._config.DEFAULT_TIMEOUT_CONFIG, httpx2._config.DEFAULT_TIMEOUT_CONFIG):
        default.connect = default.read = default.write = default.pool = SECONDS
