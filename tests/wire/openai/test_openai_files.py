"""OpenAI's files: uploaded in forms, listed, retrieved and deleted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.files import read_form
from tests.wire.openai.batch_cases import (
    BATCH,
    CHAT,
    CONTENT,
    CREATE,
    DELETE_FILE,
    FILE,
    FILES,
    NOW,
    UPLOAD,
    Session,
    encode_form,
)

BATCH_FIELDS = {"endpoint": CHAT, "completion_window": "24h"}


def test_file_is_retrieved_with_its_exact_content() -> None:
    session = Session()
    data = b"one\r\n\x00\xff--edg\r\n"
    name = session.upload(data)
    assert session.compute_json(FILE, name) == {
        "id": name,
        "object": "file",
        "bytes": len(data),
        "created_at": NOW,
        "expires_at": None,
        "filename": "in.jsonl",
        "purpose": "batch",
        "status": "processed",
        "status_details": None,
    }
    assert session.compute(CONTENT, session.read(CONTENT, name)) == data
    assert session.compute_json(DELETE_FILE, name) == {
        "id": name,
        "object": "file",
        "deleted": True,
    }
    with pytest.raises(WireError, match="No such File object"):
        session.compute_json(FILE, name)


@pytest.mark.parametrize("data", [b'null\n{"response":{},"items":[]}\n', b'{"id":"batch_1"}'])
def test_names_of_other_resources_are_no_files_or_batches(data: bytes) -> None:
    session = Session()
    session.records |= {"resp_1": data, "batch_1": data, session.upload(b"a"): b"{}\na"}
    for name in ("resp_1", "batch_1"):
        with pytest.raises(WireError, match="No such File object"):
            session.compute_json(FILE, name)
        with pytest.raises(WireError, match="No such File object"):
            session.read(CREATE, body={**BATCH_FIELDS, "input_file_id": name})
    for name in ("resp_1", "file-f1"):
        with pytest.raises(WireError, match="No batch found"):
            session.compute_json(BATCH, name)


@given(st.binary(max_size=300), st.text("abc\"'", max_size=5))
def test_form_keeps_any_bytes(data: bytes, value: str) -> None:
    headers, body = encode_form(
        ('name="purpose"', value.encode()), ('name="file"; filename="x"', data.replace(b"--", b"-"))
    )
    form = read_form(Call("POST", "/", {}, headers, body))
    assert form.files["file"].data == data.replace(b"--", b"-")
    assert form.fields["purpose"] == value


def test_files_are_listed_by_purpose_with_the_latest_first() -> None:
    session = Session()
    first, second = session.upload(b"a"), session.upload(b"b")
    session.upload(b"c", "user_data")
    page = session.compute_json(FILES, query={"purpose": "batch"})
    assert [each["id"] for each in page["data"]] == [second, first]
    assert len(session.compute_json(FILES)["data"]) == 3
    page = session.compute_json(FILES, query={"limit": "1", "order": "asc"})
    assert [each["id"] for each in page["data"]] == [first] and page["has_more"] is True


def test_up_to_10_000_files_are_on_one_page() -> None:
    session = Session()
    for _ in range(101):
        session.upload(b"a")
    assert len(session.compute_json(FILES)["data"]) == 101
    assert len(session.compute_json(FILES, query={"limit": "10000"})["data"]) == 101
    with pytest.raises(WireError, match="from 0 to 10000"):
        session.compute_json(FILES, query={"limit": "10001"})


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (({}, b""), "multipart/form-data"),
        (({"content-type": "multipart/form-data"}, b""), "boundary"),
        (({"content-type": "multipart/form-data; boundary=edge"}, b"text"), "no form"),
        (encode_form(('name="file"; filename="x"', b"")), "'purpose'"),
        (encode_form(('name="purpose"', b"batch")), "'file'"),
        (
            encode_form(('name="purpose"', b"batch"), ('name="file"', b"text")),
            "part with a filename",
        ),
        (({"content-type": "multipart/form-data; boundary=\u20ac"}, b"text"), "no form"),
        (encode_form(('name="purpose"', b"fun"), ('name="file"; filename="x"', b"")), "'fun'"),
    ],
)
def test_invalid_upload_is_rejected(form: tuple[dict[str, str], bytes], message: str) -> None:
    with pytest.raises(WireError, match=message) as raised:
        Session().read(UPLOAD, form=form)
    assert raised.value.answer.status == 400
