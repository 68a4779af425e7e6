"""How long a test's HTTP client waits that says nothing of it: five seconds are little for a
machine that is busy with something else."""

import httpx
import httpx2

SECONDS = 60.0


def install() -> None:
    for default in (httpx._config.DEFAULT_TIMEOUT_CONFIG, httpx2._config.DEFAULT_TIMEOUT_CONFIG):
        default.connect = default.read = default.write = default.pool = SECONDS
