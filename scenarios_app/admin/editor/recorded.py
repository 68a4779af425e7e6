"""What a step's page says of what was recorded: the answer as text, and whether it replays."""

from typing import Final

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.phrases import listed, member
from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.document.json_text import plain
from scenarios_app.engine.document.load import validated
from scenarios_app.models import AnyStep
from scenarios_app.store.translate import step_object

AS_RECORDED: Final = "replays as recorded"
EDITED: Final = "edited: answers from its parts"
_SHOWN: Final = 20_000


def told_of_recorded(row: AnyStep) -> str:
    """Whether a step replays what was recorded; empty for one that was not."""
    if not row.answer_recorded:
        return ""
    try:
        produce = validated(ProduceDocument, plain(step_object(row).get("produce")))
    except DocumentError:
        return ""
    return AS_RECORDED if produce.as_recorded else EDITED


def shown_answer(recorded: Json) -> str:
    """A recorded answer as people read it: status, type and body, with pieces that are no text
    named by their size."""
    if not recorded:
        return ""
    media_type = member(member(recorded, "headers"), "content-type")
    head = [str(member(recorded, "status") or 200)]
    head += [media_type] if isinstance(media_type, str) else []
    head += ["cut off"] if member(recorded, "cut") else []
    body = "".join(map(_piece, listed(member(recorded, "chunks"))))
    if len(body) > _SHOWN:
        body = f"{body[:_SHOWN]}… ({len(body) - _SHOWN} more characters)"
    return f"{' · '.join(head)}\n\n{body}"


def _piece(chunk: Json) -> str:
    if isinstance(chunk, str):
        return chunk
    text, data = member(chunk, "text"), member(chunk, "base64")
    if isinstance(text, str):
        return text
    return f"({len(data) * 3 // 4} bytes)" if isinstance(data, str) else ""
