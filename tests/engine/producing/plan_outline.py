"""Plans of answers, and their outlines as text."""

from scenarios_app.engine.canonical import CanonicalResponse, Choice
from scenarios_app.engine.parts import (
    Finish,
    PartDelta,
    PartEnd,
    PartStart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.engine.producing.plan import TimedEvent, plan
from scenarios_app.engine.producing.produce import Seed
from scenarios_app.engine.scenario import Fault, Pacing

TEXT_AND_CALL = Choice((TextPart("a b"), ToolCallPart("id", "f", "{}")), "tool_calls")


def build_plan(
    response: CanonicalResponse,
    pacing: Pacing = Pacing(words_per_chunk=1),  # noqa: B008
    *,
    sequential: bool = False,
    fault: Fault | None = None,
    seed: str = "ab",
) -> tuple[TimedEvent, ...]:
    draws = Seed(seed).draws()
    return tuple(plan(response, pacing=pacing, sequential=sequential, fault=fault, draws=draws))


def outline(timed: tuple[TimedEvent, ...]) -> list[str]:
    """Return a plan as short texts.

    `+0` starts part 0, `0:text` is a delta of it, `-0` ends it, `.` is a finish, `!` a fault.
    """
    lines = []
    for _, event in timed:
        match event:
            case PartStart():
                lines.append(f"+{event.index}")
            case PartDelta():
                lines.append(f"{event.index}:{event.text}")
            case PartEnd():
                lines.append(f"-{event.index}")
            case Finish():
                lines.append(".")
            case Fault():
                lines.append("!")
    return lines
