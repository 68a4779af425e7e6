"""What a reader thinks of a message."""

from rest_framework.request import Request
from rest_framework.response import Response

from chat_app.api.descriptions import documented
from chat_app.api.kit import ChatView
from chat_app.api.shapes import FeedbackBody, FeedbackGivenBody
from chat_app.conversation_queries import message_of
from chat_app.conversations import set_feedback


class FeedbackView(ChatView):
    @documented(
        "give_feedback",
        body=FeedbackBody,
        answers={200: (FeedbackGivenBody, "It is kept.")},
        errors=(404,),
        tag="conversations",
    )
    def post(self, request: Request) -> Response:
        """Like a message, dislike it, or take that back."""
        asked = self.given_as(FeedbackBody)
        message = message_of(asked["client_id"], asked["message_id"])
        set_feedback(message, asked["feedback"], comment=asked["comment"])
        return Response({"message_id": str(message.pk), "feedback": message.feedback or None})
