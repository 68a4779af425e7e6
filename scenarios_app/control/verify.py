"""Counts the journal's requests that match a condition, and finds the nearest others."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import starmap
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.control.kit import (
    ANY_SESSION,
    ControlView,
    JournalledBody,
    MatchField,
    MismatchBody,
    documented,
    flush_journal,
    journal_completeness,
    rows_of_session,
)
from scenarios_app.control.matches import count_matches
from scenarios_app.control.sessions import find_session
from scenarios_app.engine.conditions.match import Mismatch
from scenarios_app.engine.document import load_match
from scenarios_app.models import ServedRequest


class CountBody(Shape):
    """One of the three; without any, at least 1."""

    keywords: ClassVar[Mapping[str, Any]] = {"minProperties": 1, "maxProperties": 1}

    equals = Whole(required=False, min_value=0, help_text="The exact number.")
    at_least = Whole(required=False, min_value=0, help_text="The minimum.")
    at_most = Whole(required=False, min_value=0, help_text="The maximum.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise ValidationError("expected one of equals, at_least, at_most")
        return attrs


class VerifyBody(Shape):
    """The requests to count, and the expected count."""

    session = Text(**ANY_SESSION)
    match = MatchField(help_text="The conditions, as in a step.")
    count = CountBody(required=False, help_text="The expected number; default: at least 1.")


class NearRequestBody(Shape):
    """A request that nearly matched, and the conditions that failed."""

    id = serializers.UUIDField(help_text="The value of the header x-mockllm-request.")
    session = Text(help_text="The session.")
    provider = Text(help_text="The provider whose API was called.")
    path = Text(help_text="The path without its query.")
    mismatches = MismatchBody(many=True, help_text="The conditions that do not hold.")


class UnjudgedBody(Shape):
    """A request that cannot be judged: the journal has cut or masked it."""

    id = serializers.UUIDField(help_text="The value of the header x-mockllm-request.")
    reason = Text(help_text="What the journal lacks.")


class VerifiedBody(JournalledBody):
    """`count` requests match for sure. `passed` is sure: also if the `unjudged` ones, of
    which the journal has not kept enough to tell, and those that it has `lost`, all did or none."""

    passed = Flag(help_text="True if the number is as expected.")
    count = Whole(help_text="The number of matching requests.")
    nearest = NearRequestBody(many=True, help_text="The closest requests, if too few match.")
    unjudged = UnjudgedBody(many=True, help_text="Requests that may match or not.")


class VerifyView(ControlView):
    @documented("verify", VerifiedBody, "The result.", body=VerifyBody)
    def post(self, request: Request) -> Response:
        """Count the requests in the journal that a step with this match would have answered."""
        fields = self.read_body(VerifyBody)
        match = load_match(fields["match"])
        session = find_session(fields["session"])
        flush_journal()
        result = count_matches(match, rows_of_session(session))
        count = fields.get("count", {"at_least": 1})
        minimum = count.get("equals", count.get("at_least", 0))
        maximum = count.get("equals", count.get("at_most"))
        few = result.count < minimum
        journal = journal_completeness(session)
        possible_count = result.count + len(result.unjudged) + journal["lost"]
        many = maximum is not None and possible_count > maximum
        body = {
            "passed": not few and not many,
            "count": result.count,
            "nearest": list(starmap(_near_body, result.nearest)) if few else [],
            "unjudged": [{"id": str(uid), "reason": reason} for uid, reason in result.unjudged],
        }
        return Response(body | journal)


def _near_body(row: ServedRequest, mismatches: Sequence[Mismatch]) -> dict[str, Any]:
    columns = {name: getattr(row, name) for name in ("session", "provider", "path")}
    return {"id": str(row.uid), **columns, "mismatches": list(map(asdict, mismatches))}
