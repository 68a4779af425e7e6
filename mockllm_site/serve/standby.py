"""Lets a server import its code and wait for its options, so that it is ready soon after them."""

import json
import select
import sys
from typing import Any

from django.conf import settings

from mockllm_site.kit.imports import import_now
from mockllm_site.serve import database
from mockllm_site.serve.server import Parent

SECONDS_PER_CHECK = 0.5


def read_options(parent: Parent | None) -> dict[str, Any]:
    """Prepare a start, and return the options of `serve` that standard input has as a line of JSON.
    Exit if the input ends or the parent has ended before."""
    database.prepare_in_memory()
    if settings.MOCKLLM_LIGHT:
        import_now(settings.ROOT_URLCONF)
    # A process that the parent forked may keep the input open.
    while not select.select([sys.stdin], [], [], SECONDS_PER_CHECK)[0]:
        if parent is not None and parent.is_gone:
            sys.exit(0)
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    options: dict[str, Any] = json.loads(line)
    return options
