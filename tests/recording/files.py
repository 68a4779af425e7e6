"""Read recordings of other tools: their conversions, interactions and errors."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError, load_documents
from scenarios_app.recording import Interaction
from scenarios_app.recording.document import Conversion
from scenarios_app.recording.importers import decode_recording


def read_recording(value: Any, source: str = "file.json") -> Conversion:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    recording = decode_recording(data, source=source)
    assert recording is not None
    conversion = recording.convert("name")
    if conversion.steps:
        load_documents(conversion.document)
    return conversion


def read_interactions(value: Any, source: str = "file.json") -> list[Interaction]:
    recording = decode_recording(json.dumps(value).encode(), source=source)
    assert recording is not None
    return recording.interactions()


def read_error(data: Any, source: str = "file.json") -> str:
    with pytest.raises(DocumentError) as raised:
        read_recording(data, source)
    return str(raised.value)
