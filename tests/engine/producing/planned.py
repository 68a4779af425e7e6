"""Plans of answers, and what is seen of them."""

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

AB = Choice((TextPart("a b"), ToolCallPart("id", "f", "{}")), "tool_calls")


def planned(
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
    """A plan in short: `+0` part 0 starts, `0:text` a delta of it, `-0` it ends, `.` a finish."""
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
