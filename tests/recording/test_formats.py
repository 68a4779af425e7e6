"""Formats of recordings: bodies, compression, limits and error messages."""

import base64
import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError
from scenarios_app.recording import importers
from scenarios_app.recording.importers import decode_recording, scenario_name, unique_name
from tests.recording.files import read_error, read_interactions, read_recording
from tests.recording.interactions import CHAT, CHAT_BODY

ANSWER = {
    "id": "c",
    "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
}


def vcr_cassette(request: dict[str, Any] | None = None, **response: Any) -> dict[str, Any]:
    default_request = {"method": "POST", "uri": CHAT, "headers": {}, "body": json.dumps(CHAT_BODY)}
    full_response = {"status": {"code": 200}, "headers": {}, "body": {"string": "x"}, **response}
    return {
        "version": 1,
        "interactions": [{"request": default_request | (request or {}), "response": full_response}],
    }


@pytest.mark.parametrize(
    ("response", "body"),
    [
        ({"body": {"string": "plain — ü"}}, "plain — ü".encode()),
        ({"body": "bare"}, b"bare"),
        ({"body": None}, b""),
        (
            {"body": None, "parsed_body": {"a": [1.0, None], "b": "ü"}},
            b'{"a": [1.0, null], "b": "\\u00fc"}',
        ),
        ({"body": {"base64_string": base64.b64encode(b"\xff").decode()}}, b"\xff"),
        # Ruby's VCR ends a line after 60 characters.
        ({"body": {"base64_string": base64.encodebytes(b"\xff" * 99).decode()}}, b"\xff" * 99),
        ({"body": None, "content": "older"}, b"older"),
    ],
)
def test_cassette_bodies_are_decoded_in_every_form(response: dict[str, Any], body: bytes) -> None:
    (interaction,) = read_interactions(vcr_cassette(**response))
    assert interaction.response.body == body


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("gzip", gzip.compress(b"body", mtime=0)),
        ("gzip", gzip.compress(b"bo", mtime=0) + gzip.compress(b"dy", mtime=0)),
        ("deflate", zlib.compress(b"body")),
        ("deflate", zlib.compress(b"body")[2:-4]),
        ("gzip", b"body"),
        ("br", b"body"),
        ("identity", b"body"),
    ],
)
def test_compressed_bodies_are_decompressed(kind: str, data: bytes) -> None:
    yaml = (
        f"interactions:\n- request: {{method: POST, uri: '{CHAT}', headers: {{}}, body: ''}}\n"
        f"  response:\n    status: {{code: 200}}\n    headers: {{content-encoding: [{kind}]}}\n"
        f"    body: {{string: !!binary {base64.b64encode(data).decode()}}}\n"
    )
    recording = decode_recording(yaml.encode(), source="a.yaml")
    assert recording is not None
    assert recording.interactions()[0].response.body == b"body"


@pytest.mark.parametrize(
    ("kind", "data", "error"),
    [
        ("br", b"\xff\xfe", "compressed as br, which is not read here"),
        ("gzip", b"\x1f\x8bbroken", "cannot be decompressed"),
        ("gzip", gzip.compress(b"x" * 99, mtime=0)[:-9], "ends in the middle"),
    ],
)
def test_invalid_compression_is_rejected(kind: str, data: bytes, error: str) -> None:
    body = {"base64_string": base64.b64encode(data).decode()}
    message = read_error(vcr_cassette(body=body, headers={"Content-Encoding": kind}))
    assert message.startswith("file.json: interactions[0].response: its body ") and error in message


def test_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios_app.recording.bodies.MAX_BODY_BYTES", 1_000)
    body = {"base64_string": base64.b64encode(gzip.compress(b"0" * 100_000)).decode()}
    assert "larger than 1000 bytes" in read_error(
        vcr_cassette(body=body, headers={"content-encoding": "gzip"})
    )


def test_ruby_vcr_cassette_is_imported() -> None:
    (interaction,) = vcr_cassette()["interactions"]
    interaction["request"]["method"] = "post"
    assert read_recording({"http_interactions": [interaction], "recorded_with": "VCR 6"}).steps == 1


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"interactions": 7}, "interactions: expected a list"),
        ({"interactions": [7]}, "interactions[0]: expected an object"),
        ({"interactions": [{}]}, "interactions[0].request"),
        (vcr_cassette({"method": 7}), "interactions[0].request.method: expected a text"),
        (vcr_cassette({"headers": 7}), "interactions[0].request.headers: expected headers"),
        (vcr_cassette({"headers": {"a": [{}]}}), "expected texts as headers"),
        (
            vcr_cassette(status={"code": 7}),
            "interactions[0].response.status.code: expected an HTTP status",
        ),
        (vcr_cassette(body=7), "interactions[0].response.body: expected a text or bytes"),
        (vcr_cassette(body={"base64_string": "%"}), "declared as Base64, but is not"),
    ],
)
def test_invalid_cassette_is_rejected_with_its_path(value: Any, error: str) -> None:
    message = read_error(value)
    assert message.startswith("file.json: ") and error in message


YAML_ERRORS = {
    "a: [": ":2:1: not valid YAML",
    "a: !!python/object/apply:os.system [echo]": "could not determine a constructor",
    "- " * 300: "nested deeper than 100 levels",
    "[" * 300: "nested deeper than 100 levels",
    "a: .inf": "not finite",
    "a: &a [*a]": "unfolds to more than",
    "[&a [1,1], &b [*a,*a], [*b,*b]]": "unfolds to more than 12 values",
    "[1,2,3,4,5,6,7,8,9,10,11,12]": "holds more than 12 values",
    "a: \ud800": "expected UTF-8 text",
}


@pytest.mark.parametrize("text", YAML_ERRORS)
def test_hostile_yaml_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from scenarios_app.engine.document import yaml_text

    if " 12 values" in YAML_ERRORS[text]:
        monkeypatch.setattr(yaml_text, "MAX_NODES", 12)
    data = text.encode("utf-8", "surrogatepass")
    with pytest.raises(DocumentError) as raised:
        decode_recording(data, source="a.yaml")
    assert str(raised.value).startswith("a.yaml:") and YAML_ERRORS[text] in str(raised.value)


def test_yaml_is_read_as_plain_values() -> None:
    from scenarios_app.engine.document.yaml_text import read_yaml

    text = "a: 2026-05-01\nb: yes\nc: 1.5\nd: ~\ne: !!python/unicode 'x'\n<<: {f: 1}\n"
    assert read_yaml(text.encode()) == {
        "a": "2026-05-01",
        "b": True,
        "c": 1.5,
        "d": None,
        "e": "x",
        "<<": {"f": 1},
    }


def test_files_beyond_the_limits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers, "MAX_INTERACTIONS", 1)
    twice = vcr_cassette()
    twice["interactions"] *= 2
    assert "holds more than 1 interactions" in read_error(twice)
    fixtures = [{"match": {}, "response": {"content": "x"}}] * 2
    assert "holds more than 1 interactions" in read_error({"fixtures": fixtures})
    monkeypatch.setattr(importers, "MAX_FILE_BYTES", 10)
    assert "is larger than" in read_error(b"a: " + b"x" * 20, "a.yaml")
    assert decode_recording(b" " * 20, source="a.json") is None


@pytest.mark.parametrize(
    ("data", "source", "error"),
    [
        (b"{", "a.har", "not valid JSON"),
        (b'{"a": NaN}', "a.har", "not valid JSON"),
        (b"\xff", "a.har", "expected UTF-8 text, byte 1 is not"),
        (b"[" * 100_000, "a.har", "nested deeper than 100 levels"),
        (b"[" * 150 + b"]" * 150, "a.json", "nested deeper than 100 levels"),
        (b'{"a": 1}\n{broken\n', "a.jsonl", "line 2 is not valid JSON"),
    ],
)
def test_invalid_json_is_refused_with_its_place(data: bytes, source: str, error: str) -> None:
    with pytest.raises(DocumentError, match=error):
        decode_recording(data, source=source)


@pytest.mark.parametrize(
    ("data", "source"),
    [
        (b"services: {web: {image: x}}", "compose.yaml"),
        (b'{"name": "greeting", "steps": []}', "a.json"),
        (b"{broken", "a.json"),
        (b'{"level": "info"}\n', "log.jsonl"),
        (b"", "empty.jsonl"),
        (b"7", "a.json"),
    ],
)
def test_other_file_is_no_recording(data: bytes, source: str) -> None:
    assert decode_recording(data, source=source) is None


@pytest.mark.parametrize(
    ("source", "stem"),
    [
        ("/a/b/chat one.yaml", "chat one"),
        ("a.test[x].yaml", "a.test[x]"),
        ("\x07.har", "recording"),
        ("می\u200cخواهم.har", "می\u200cخواهم"),
        ("a\u200bb\u200d.har", "ab"),
        (f"{'x' * 199}\u200dy.har", "x" * 199),
        (f"{'x' * 300}.har", "x" * 200),
    ],
)
def test_scenario_is_named_after_its_file(source: str, stem: str) -> None:
    assert scenario_name(source) == stem


def test_names_are_made_unique() -> None:
    assert unique_name("a", []) == "a"
    assert unique_name("a", ["a", "a-2"]) == "a-3"
    long = "x" * 200
    assert unique_name(long, [long]) == "x" * 198 + "-2"


def test_every_format_has_a_title() -> None:
    titles = [file_format.title for file_format in importers.FORMATS]
    assert len(set(titles)) == len(titles) == 8
    assert Path("x.YAML").suffix.lower() in importers.SUFFIXES
