"""Conversations: listed, loaded, begun, named and deleted, and what a reader thinks of a
message."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from chat_app import conversations
from chat_app.api import kit as described
from chat_app.api.kit import ChatView
from chat_app.api.shapes import (
    ConversationBody,
    ConversationsBody,
    DeletedBody,
    FeedbackBody,
    FeedbackGivenBody,
    ListQuery,
    LoadedBody,
    NewBody,
    NewConversationBody,
    OfConversation,
    RenameBody,
    RewindBody,
    RewoundBody,
)
from chat_app.conversations import (
    answered_by_of,
    conversation_of,
    conversations_of,
    message_of,
    messages_of,
    set_feedback,
    trace_ids_of,
)
from chat_app.errors import NOT_FOUND, ChatError
from chat_app.models import Conversation, Message, Sender

documented = partial(described.documented, tag="conversations")


class ListView(ChatView):
    @documented(
        "list_conversations",
        query=ListQuery,
        answers={200: (ConversationsBody, "The one with the newest message first.")},
    )
    def get(self, request: Request) -> Response:
        """A client's conversations, without those that were archived."""
        asked = self.query(ListQuery)
        found = conversations_of(asked["client_id"], asked["limit"], containing=asked["q"].strip())
        return Response({"conversations": [_record(one) for one in found]})


class LoadView(ChatView):
    # Also its POST.
    reads = True

    @documented(
        "load_conversation",
        query=OfConversation,
        answers={200: (LoadedBody, "All messages in order.")},
        errors=(404,),
    )
    def get(self, request: Request) -> Response:
        """A conversation with its messages."""
        return _loaded(**self.query(OfConversation))

    @documented(
        "load_conversation_by_post",
        body=OfConversation,
        answers={200: (LoadedBody, "All messages in order.")},
        errors=(404,),
    )
    def post(self, request: Request) -> Response:
        """The same, for clients that send everything as JSON."""
        return _loaded(**self.read_body(OfConversation))


class NewView(ChatView):
    @documented(
        "new_conversation", body=NewBody, answers={200: (NewConversationBody, "It is there.")}
    )
    def post(self, request: Request) -> Response:
        """Begin an empty conversation; a first message without one does so too."""
        asked = self.read_body(NewBody)
        made = conversations.create(asked["client_id"], asked["title"].strip())
        return Response({"conversation_id": str(made.pk)})


class RenameView(ChatView):
    @documented(
        "rename_conversation",
        body=RenameBody,
        answers={200: (ConversationBody, "It has the title now.")},
        errors=(404,),
    )
    def post(self, request: Request) -> Response:
        """Give a conversation another title."""
        asked = self.read_body(RenameBody)
        found = conversation_of(asked["client_id"], asked["conversation_id"])
        return Response(_record(conversations.rename(found, asked["title"])))


class DeleteView(ChatView):
    @documented(
        "delete_conversation",
        body=OfConversation,
        answers={200: (DeletedBody, "It is gone.")},
        errors=(404,),
    )
    def post(self, request: Request) -> Response:
        """Delete a conversation with its messages and traces; the runs in it end."""
        conversations.delete(conversation_of(**self.read_body(OfConversation)))
        return Response({"status": "deleted"})


class RewindView(ChatView):
    @documented(
        "rewind_conversation",
        body=RewindBody,
        answers={200: (RewoundBody, "The message and what came after it are gone.")},
        errors=(404, 409),
    )
    def post(self, request: Request) -> Response:
        """Take a message of the user's and all after it back, to ask anew; traces stay."""
        asked = self.read_body(RewindBody)
        found = conversation_of(asked["client_id"], asked["conversation_id"])
        message = message_of(asked["client_id"], asked["message_id"])
        if message.conversation_id != found.pk:
            raise ChatError(NOT_FOUND, "Message not found", field="message_id")
        conversations.rewind(found, message)
        return Response({"status": "rewound"})


def _loaded(client_id: str, conversation_id: str) -> Response:
    found = conversation_of(client_id, conversation_id)
    traces = trace_ids_of(found)
    steps = answered_by_of(found)
    return Response(
        {
            "conversation_id": str(found.pk),
            "title": found.title,
            "messages": [
                _message(message, traces.get(message.pk), steps) for message in messages_of(found)
            ],
        }
    )


def _record(conversation: Conversation) -> dict[str, Any]:
    return {
        "conversation_id": str(conversation.pk),
        "title": conversation.title,
        "created_at": conversation.created_at,
        "last_message_at": conversation.last_message_at,
    }


def _message(
    message: Message, trace_id: UUID | None, steps: Mapping[UUID, list[str]]
) -> dict[str, Any]:
    answered = message.sender == Sender.ASSISTANT and trace_id in steps
    return {
        "message_id": str(message.pk),
        "sender": message.sender,
        "content": message.content,
        "thinking": message.thinking or None,
        "tool_calls": message.tool_calls,
        "parts": list(_parts(message)),
        "status": message.status,
        "branch": message.branch or None,
        "feedback": message.feedback or None,
        "trace_id": None if trace_id is None else str(trace_id),
        "answered_by": steps[trace_id] if answered and trace_id else [],
        "created_at": message.created_at,
    }


def _parts(message: Message) -> Iterator[dict[str, Any]]:
    """In what order an answer was said, as far as its rounds tell."""
    for one in message.rounds:
        for part in one["parts"]:
            if "tool_call" in part:
                yield {"type": "tool_call", "id": part["tool_call"]["id"]}
            elif part.get("text"):
                yield {"type": "text", "content": part["text"]}
            elif part.get("thinking"):
                yield {"type": "thinking", "content": part["thinking"]}


class FeedbackView(ChatView):
    @documented(
        "give_feedback",
        body=FeedbackBody,
        answers={200: (FeedbackGivenBody, "It is kept.")},
        errors=(404,),
    )
    def post(self, request: Request) -> Response:
        """Like a message, dislike it, or take that back."""
        asked = self.read_body(FeedbackBody)
        message = message_of(asked["client_id"], asked["message_id"])
        set_feedback(message, asked["feedback"], comment=asked["comment"])
        return Response({"message_id": str(message.pk), "feedback": message.feedback or None})
