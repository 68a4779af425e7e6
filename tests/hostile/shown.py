"""All that can be seen of requests afterwards: what the journal keeps and the control API tells."""

import json
from typing import Any

import httpx2
from django.test import Client

from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from scenarios_app.serving.sync_transport import SyncMockTransport
from tests.control.control_client import Control


def sent(path: str, body: Any, headers: dict[str, str], *, through_django: bool) -> int:
    """The status of the answer, through Django's door or through the one that is in process; a
    body is sent as it is where it is a text, else as JSON."""
    data = body if isinstance(body, str) else json.dumps(body)
    if through_django:
        return Client().post(path, data, "application/json", headers=headers).status_code
    with httpx2.Client(transport=SyncMockTransport(), base_url="http://mock") as client:
        return client.post(path, content=data, headers=headers).status_code


def everything_kept() -> str:
    assert journal.flush()
    return "\n".join(str(row) for row in ServedRequest.objects.values())


def everything_shown(control: Control, some: list[str]) -> str:
    shown = [control.get("scenarios").content.decode()]
    sessions = set()
    after = ""
    while after is not None:
        page = control.get("requests", after=after, limit=500).json()
        shown.append(json.dumps(page))
        sessions |= {line["session"] for line in page["requests"]}
        for line in page["requests"][::20]:
            shown.append(control.get(f"requests/{line['id']}").content.decode())
        after = page["next"]
    shown += [control.get("state", session=name).content.decode() for name in sorted(sessions)]
    shown += [control.get(path).content.decode() for path in ("verdict", "coverage?scenarios=*")]
    # Named by the keys; the answer has the sessions' names.
    for key in some:
        shown.append(control.get("state", session=key).content.decode())
        shown.append(control.post("reset", {"session": key}).content.decode())
    for match in ({"model": "nobody"}, {"headers": {"authorization": "Bearer nobody"}}):
        shown.append(control.post("verify", {"match": match}).content.decode())
    return "\n".join(shown)
