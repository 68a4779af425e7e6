"""One of two processes that write to one database: it runs the operation of each line.

It waits for another line before the statement that it is to stop at.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from django.core.management import call_command
from django.db import close_old_connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from chat_app.errors import ChatError
from scenarios_app.store.drafts import PublishError
from tests.database import chat_operations, run_operations, scenario_operations

OPERATIONS = {**vars(chat_operations), **vars(run_operations), **vars(scenario_operations)}


class Gate:
    """Wraps every statement of this process, in all its threads."""

    def __init__(self) -> None:
        self.before: str | None = None

    def watch(self, *, connection: BaseDatabaseWrapper, **_: object) -> None:
        if self not in connection.execute_wrappers:
            connection.execute_wrappers.append(self)

    def __call__(self, execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        if self.before is not None and sql.startswith(self.before):
            self.before = None
            tell(held=True)
            sys.stdin.readline()
        return execute(sql, *arguments)


def tell(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def serve(*, migrate: bool) -> None:
    gate = Gate()
    connection_created.connect(gate.watch)
    if migrate:
        call_command("migrate", verbosity=0)
    tell(ready=True)
    while line := sys.stdin.readline():
        request = json.loads(line)
        gate.before = request["hold"]
        # As at the start of each request.
        close_old_connections()
        tell(**_run_operation(OPERATIONS[request["operation"]], request["arguments"]))


def _run_operation(
    operation: Callable[..., dict[str, Any]], arguments: dict[str, Any]
) -> dict[str, Any]:
    try:
        return operation(**arguments)
    except ChatError as error:
        return {"refused": error.code}
    except PublishError as error:
        return {"refused": str(error)}
    except Exception as error:
        return {"failed": repr(error)}
