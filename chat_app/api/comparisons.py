"""Comparisons over HTTP: two answers in one stream, one vote on them, and who wins."""

from contextlib import ExitStack

from django.conf import settings
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from chat_app.api.event_stream import event_stream, stream_slot
from chat_app.api.kit import AsyncChatView, ChatView, documented
from chat_app.api.runs import EVENTS, IDS, STREAM
from chat_app.api.shapes import (
    ClientQuery,
    ComparisonBody,
    LeaderboardBody,
    PairBody,
    PendingBody,
    PendingQuery,
    VoteBody,
    VotedBody,
)
from chat_app.comparisons import (
    comparison_of,
    leaderboard,
    pending_of,
    profiles,
    record,
    start_pair,
    vote,
)
from chat_app.errors import FORBIDDEN, ChatError
from chat_app.profiles import Named
from chat_app.runs.begin import Sending


class PairView(AsyncChatView):
    http_method_names = ("post",)

    @documented(
        "compare",
        tag="comparisons",
        body=PairBody,
        headers=IDS[:1],
        answers={
            200: (EVENTS, "Both runs' events, each with its branch, then a done without one.")
        },
        errors=(403, 404, 409),
        media_type=STREAM,
    )
    async def post(self, request: Request) -> HttpResponseBase:
        """Have two profiles answer one message, under blind labels."""
        if not settings.AB_TESTING_ENABLED:
            raise ChatError(FORBIDDEN, "Comparisons are switched off (AB_TESTING_ENABLED)")
        asked = self.read_body(PairBody)
        with ExitStack() as held:
            held.enter_context(stream_slot())
            pair = await start_pair(
                Sending(
                    asked["conversation_id"],
                    asked["message"],
                    {},
                    client_id=asked["client_id"],
                    client_message_id=asked["client_message_id"],
                ),
                profiles=(Named(asked["profile_a"]), Named(asked["profile_b"])),
                seed=asked["seed"],
            )
            return event_stream(
                pair.events(), conversation_id=pair.conversation_id, held=held.pop_all()
            )


class VoteView(ChatView):
    http_method_names = ("post",)

    @documented(
        "vote",
        tag="comparisons",
        body=VoteBody,
        answers={200: (VotedBody, "Kept; now it is told who was who.")},
        errors=(404, 409),
    )
    def post(self, request: Request) -> Response:
        """Say which answer is better. It is said once; the same again changes nothing."""
        asked = self.read_body(VoteBody)
        voted = vote(asked["client_id"], asked["comparison_id"], asked["preference"])
        return Response(
            {"status": "recorded", "preference": voted.preference, "profiles": profiles(voted)}
        )


class ComparisonView(ChatView):
    sees_with = "chat_app.view_abcomparison"
    http_method_names = ("get", "head")

    @documented(
        "read_comparison",
        tag="comparisons",
        query=ClientQuery,
        answers={200: (ComparisonBody, "Before the vote, profiles are null.")},
        errors=(404,),
    )
    def get(self, request: Request, comparison_id: str) -> Response:
        """One comparison."""
        client_id = self.query(ClientQuery).get("client_id")
        return Response(record(comparison_of(client_id, comparison_id)))


class PendingView(ChatView):
    http_method_names = ("get", "head")

    @documented(
        "list_pending_comparisons",
        tag="comparisons",
        query=PendingQuery,
        answers={200: (PendingBody, "The latest first.")},
    )
    def get(self, request: Request) -> Response:
        """A client's comparisons that can still be voted on."""
        asked = self.query(PendingQuery)
        found = pending_of(asked["client_id"])[: asked["limit"]]
        return Response({"comparisons": [record(comparison) for comparison in found]})


class LeaderboardView(ChatView):
    http_method_names = ("get", "head")

    @documented(
        "leaderboard",
        tag="comparisons",
        answers={200: (LeaderboardBody, "The best first.")},
    )
    def get(self, request: Request) -> Response:
        """Every profile that was voted on."""
        return Response({"profiles": [_shown(rank) for rank in leaderboard()]})


def _shown(rank: object) -> dict[str, object]:
    names = ("profile", "wins", "ties", "losses", "score", "low", "high")
    return {name: getattr(rank, name) for name in names}
