"""Feeding a pipeline in few words."""

from itertools import chain

from chat_app.stream import StreamPipeline
from chat_app.values.events import StreamEvent, TextDelta, ThinkingDelta
from chat_app.values.model_call import Finished, ProviderEvent, TextPiece

END = Finished("stop")


def fed(pipeline: StreamPipeline, *events: ProviderEvent | str) -> list[StreamEvent]:
    """Strings are pieces of text."""
    pieces = [TextPiece(event) if isinstance(event, str) else event for event in events]
    return list(chain.from_iterable(map(pipeline.feed, pieces)))


def said(*events: ProviderEvent | str) -> list[StreamEvent]:
    """What a call that ends well makes a new pipeline say."""
    return fed(StreamPipeline(), *events, END)


def split(*events: ProviderEvent | str) -> tuple[str, str]:
    """The text and the thinking of an answer, each as its deltas joined."""
    found = said(*events)
    return (
        "".join(event.content for event in found if isinstance(event, TextDelta)),
        "".join(event.content for event in found if isinstance(event, ThinkingDelta)),
    )
