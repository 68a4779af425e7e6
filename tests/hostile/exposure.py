"""Reads all that the journal and the control API expose of earlier requests."""

import json
from typing import Any

import httpx2
from django.test import Client

from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from scenarios_app.serving.sync_transport import SyncMockTransport
from tests.control.control_client import Control


def send_request(path: str, body: Any, headers: dict[str, str], *, through_django: bool) -> int:
    """Send a request and return the status.

    It goes through Django's view or through the in-process transport. A `str` body is sent as it
    is, any other one as JSON.
    """
    data = body if isinstance(body, str) else json.dumps(body)
    if through_django:
        return Client().post(path, data, "application/json", headers=headers).status_code
    with httpx2.Client(transport=SyncMockTransport(), base_url="http://mock") as client:
        return client.post(path, content=data, headers=headers).status_code


def read_journal() -> str:
    """Return all rows of the journal as text."""
    assert journal.flush()
    return "\n".join(str(row) for row in ServedRequest.objects.values())


def read_control_api(control: Control, keys: list[str]) -> str:
    """Return all that the control API answers; `keys` are API keys that name sessions."""
    texts = [control.get("scenarios").content.decode()]
    sessions = set()
    cursor = ""
    while cursor is not None:
        page = control.get("requests", after=cursor, limit=500).json()
        texts.append(json.dumps(page))
        sessions |= {line["session"] for line in page["requests"]}
        for line in page["requests"][::20]:
            texts.append(control.get(f"requests/{line['id']}").content.decode())
        cursor = page["next"]
    texts += [control.get("state", session=name).content.decode() for name in sorted(sessions)]
    texts += [control.get(path).content.decode() for path in ("verdict", "coverage?scenarios=*")]
    # Requests name the sessions by their keys; the responses have the sessions' names.
    for key in keys:
        texts.append(control.get("state", session=key).content.decode())
        texts.append(control.post("reset", {"session": key}).content.decode())
    for match in ({"model": "nobody"}, {"headers": {"authorization": "Bearer nobody"}}):
        texts.append(control.post("verify", {"match": match}).content.decode())
    return "\n".join(texts)
