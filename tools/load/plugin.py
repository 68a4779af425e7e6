"""Runs many plugin tests in many workers against one server, and checks that each test gets its
own answers and sees only its own requests, and that no verdict reports a correct client.

`python -m tools.load.plugin [TESTS] [WORKERS]`. Stops after a second per ten tests.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS, WORKERS = 10_000, 16
MIN_SECONDS, TESTS_PER_SECOND = 120, 10
TEST_MODULE = """
import json
import os
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest


@pytest.mark.parametrize("number", range({tests}))
def test_it(mockllm, number):
    mockllm.on("number", once=True).reply(f"This is {{number}}.")
    connection = HTTPConnection(urlsplit(os.environ["OPENAI_BASE_URL"]).netloc)
    body = {{"model": "m", "messages": [{{"role": "user", "content": "Which number?"}}]}}
    headers = {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}}
    headers["Content-Type"] = "application/json"
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer["choices"][0]["message"]["content"] == f"This is {{number}}."
    mockllm.verify("number", times=1)
"""


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:]]
    tests, workers = (*numbers, *(TESTS, WORKERS)[len(numbers) :])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_many.py").write_text(TEST_MODULE.format(tests=tests))
        Path(folder, "pytest.ini").write_text("[pytest]\n")
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers)]
        command += ["-p", "no:django", "-p", "no:cacheprovider", "--mockllm-report", "report.json"]
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("MOCKLLM_", "PYTEST_"))
        }
        start = time.monotonic()
        timeout_seconds = max(MIN_SECONDS, tests // TESTS_PER_SECOND)
        run = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
        )
        seconds = time.monotonic() - start
        report = Path(folder, "report.json")
        if not report.exists():
            sys.exit(run.stdout + run.stderr)
        verdicts = json.loads(report.read_text())["tests"]
    clean = sum(
        verdict["passed"] and not verdict["findings"] and verdict["requests"] == 1
        for verdict in verdicts
    )
    passed = int((re.search(r"(\d+) passed", run.stdout) or [0, 0])[1])
    print(
        f"{tests:,} tests over {workers} workers: {passed:,} passed, {clean:,} clean verdicts, ",
        end="",
    )
    print(f"{seconds:.0f} s, {seconds / tests * 1000:.0f} ms a test")
    if not passed == clean == tests:
        sys.exit(run.stdout[-3000:])


if __name__ == "__main__":
    main()
