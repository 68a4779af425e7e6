"""The chat's pages: the playground and the leaderboard."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from chat_app.comparisons import leaderboard
from chat_app.models import ModelProfile
from chat_app.profiles import default_profile
from chat_app.ranking import MIDDLE, Rank
from mockllm_site.kit.api.access import CHATS, local_or_logged_in

# The chart's width in its own units, and the mark's.
_WIDTH, _MARK = 200.0, 4.0
_MARGIN = 25.0


@dataclass(frozen=True, slots=True)
class Row:
    """A rank with the places of its bar and its mark on the chart."""

    rank: Rank
    left: str
    width: str
    score: str


@require_safe
@never_cache
@local_or_logged_in(CHATS)
def chat(request: HttpRequest) -> HttpResponse:
    """The playground; what is said in it comes and goes by the API."""
    default = default_profile()
    context = {
        "profiles": [_shown(profile) for profile in ModelProfile.objects.all()],
        "default": default.name,
        "comparing": settings.AB_TESTING_ENABLED,
    }
    return render(request, "chat_app/chat.html", context)


def _shown(profile: ModelProfile) -> dict[str, object]:
    """What those who chat with a profile are shown of it."""
    servers = profile.mcp_servers if isinstance(profile.mcp_servers, list) else []
    return {
        "name": profile.name,
        "provider_id": profile.provider_id,
        "model_id": profile.model_id,
        "system_prompt": profile.system_prompt,
        "tools": [str(name) for name in servers],
    }


@require_safe
@never_cache
@local_or_logged_in()
def ranks(request: HttpRequest) -> HttpResponse:
    """Who wins comparisons."""
    found = leaderboard()
    low, high = _bounds(found)

    def place(score: float) -> float:
        return (score - low) / (high - low) * _WIDTH

    rows = [
        Row(
            rank,
            left=f"{place(rank.low):.1f}",
            width=f"{max(place(rank.high) - place(rank.low), 1):.1f}",
            score=f"{place(rank.score) - _MARK / 2:.1f}",
        )
        for rank in found
    ]
    context = {"rows": rows, "middle": f"{place(MIDDLE):.1f}"}
    return render(request, "chat_app/leaderboard.html", context)


def _bounds(found: Sequence[Rank]) -> tuple[float, float]:
    """The scores at the two ends of the chart; the middle is always on it."""
    low = min((rank.low for rank in found), default=MIDDLE)
    high = max((rank.high for rank in found), default=MIDDLE)
    return min(low, MIDDLE) - _MARGIN, max(high, MIDDLE) + _MARGIN
