"""Whether a session's requests were what a test says they were, and which came near."""

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.control.documented import MatchField, documented
from scenarios_app.control.journalled import flush, rows_of_session
from scenarios_app.control.judging import Tally, tally
from scenarios_app.control.sessions import session_named
from scenarios_app.control.shapes import MismatchBody
from scenarios_app.control.view import ControlView
from scenarios_app.engine.document import load_match


class CountBody(Shape):
    """One of the three; without any, at least 1."""

    equals = Whole(required=False, min_value=0)
    at_least = Whole(required=False, min_value=0)
    at_most = Whole(required=False, min_value=0)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise ValidationError("expected one of equals, at_least, at_most")
        return attrs


class VerifyBody(Shape):
    session = Text(
        required=False,
        allow_null=True,
        default=None,
        help_text="A session's name or API key; null for every session.",
    )
    match = MatchField()
    count = CountBody(required=False)


class NearRequestBody(Shape):
    """A request that came near, and why it was not what was sought."""

    id = serializers.UUIDField()
    session = Text()
    provider = Text()
    path = Text()
    mismatches = MismatchBody(many=True)


class UnjudgedBody(Shape):
    id = serializers.UUIDField()
    reason = Text()


class VerifiedBody(Shape):
    """`count` requests match for sure. `passed` holds whatever the `unjudged` ones were, of which
    the journal has not kept enough to tell."""

    passed = Flag()
    count = Whole()
    nearest = NearRequestBody(many=True, help_text="Where too few match.")
    unjudged = UnjudgedBody(many=True)


class VerifyView(ControlView):
    @documented("verify", body=VerifyBody, answers={200: (VerifiedBody, "Whether it holds.")})
    def post(self, request: Request) -> Response:
        """Count the requests in the journal that a step with this match would have answered."""
        asked = self.given_as(VerifyBody)
        match = load_match(asked["match"])
        session = None if asked["session"] is None else session_named(asked["session"])
        flush()
        found = tally(match, rows_of_session(session))
        least, most = _bounds(**asked.get("count", {"at_least": 1}))
        few = found.count < least
        many = most is not None and found.count + len(found.unjudged) > most
        return Response(
            {
                "passed": not few and not many,
                "count": found.count,
                "nearest": _nearest(found) if few else [],
                "unjudged": [{"id": str(uid), "reason": reason} for uid, reason in found.unjudged],
            }
        )


def _bounds(
    *, equals: int | None = None, at_least: int = 0, at_most: int | None = None
) -> tuple[int, int | None]:
    return (at_least, at_most) if equals is None else (equals, equals)


def _nearest(found: Tally) -> list[dict[str, Any]]:
    return [
        {
            "id": str(near.row.uid),
            "session": near.row.session,
            "provider": near.row.provider,
            "path": near.row.path,
            "mismatches": [
                {"field": m.field, "expected": m.expected, "actual": m.actual}
                for m in near.mismatches
            ],
        }
        for near in found.nearest
    ]
