"""Feeding a pipeline in few words."""

from itertools import chain

from chat_app.stream import StreamPipeline
from chat_app.values.events import StreamEvent, TextDelta, ThinkingDelta
from chat_app.values.model_call import Finished, ProviderEvent, TextPart

END = Finished("stop")


def fed(pipeline: StreamPipeline, *events: ProviderEvent | str) -> list[StreamEvent]:
    """Strings are pieces of text."""
    pieces = [TextPart(event) if isinstance(event, str) else event for event in events]
    return list(chain.from_iterable(map(pipeline.feed, pieces)))


def run_events(*events: ProviderEvent | str) -> list[StreamEvent]:
    """Return the events of a new pipeline for a call that ends well."""
    return fed(StreamPipeline(), *events, END)


def split(*events: ProviderEvent | str) -> tuple[str, str]:
    """The text and the thinking of an answer, each as its deltas joined."""
    events_found = run_events(*events)
    return (
        "".join(event.content for event in events_found if isinstance(event, TextDelta)),
        "".join(event.content for event in events_found if isinstance(event, ThinkingDelta)),
    )
