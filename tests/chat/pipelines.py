"""Helpers that feed a stream pipeline."""

from itertools import chain

from chat_app.stream import StreamPipeline
from chat_app.values.events import StreamEvent, TextDelta, ThinkingDelta
from chat_app.values.model_call import Finished, ProviderEvent, TextPart

END = Finished("stop")


def feed_all(pipeline: StreamPipeline, *events: ProviderEvent | str) -> list[StreamEvent]:
    """Feed all events and return the pipeline's events; a string is a piece of text."""
    pieces = [TextPart(event) if isinstance(event, str) else event for event in events]
    return list(chain.from_iterable(map(pipeline.feed, pieces)))


def run_events(*events: ProviderEvent | str) -> list[StreamEvent]:
    """Return the events of a new pipeline for a call that ends well."""
    return feed_all(StreamPipeline(), *events, END)


def text_and_thinking(*events: ProviderEvent | str) -> tuple[str, str]:
    """Return the joined text and the joined thinking of an answer."""
    output = run_events(*events)
    return (
        "".join(event.content for event in output if isinstance(event, TextDelta)),
        "".join(event.content for event in output if isinstance(event, ThinkingDelta)),
    )
