"""Recordings of other tools in a word: what a file of them makes, or why it does not."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError, load_documents
from scenarios_app.recording import Interaction
from scenarios_app.recording.document import Conversion
from scenarios_app.recording.importers import decode_recording


def read(value: Any, source: str = "file.json") -> Conversion:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    found = decode_recording(data, source=source)
    assert found is not None
    made = found.convert("name")
    if made.steps:
        load_documents(made.document)
    return made


def interactions(value: Any, source: str = "file.json") -> list[Interaction]:
    found = decode_recording(json.dumps(value).encode(), source=source)
    assert found is not None
    return found.interactions()


def refused(data: Any, source: str = "file.json") -> str:
    with pytest.raises(DocumentError) as raised:
        read(data, source)
    return str(raised.value)
