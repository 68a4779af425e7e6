"""Conversations over HTTP: list, load, create, rename, rewind and delete them; feedback."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from chat_app import conversations
from chat_app.api import kit, shapes
from chat_app.api.kit import ChatView
from chat_app.errors import NOT_FOUND, ChatError
from chat_app.models import Conversation, Message, Sender

documented = partial(kit.documented, tag="conversations")


class ListView(ChatView):
    @documented(
        "list_conversations",
        query=shapes.ListQuery,
        answers={200: (shapes.ConversationsBody, "The conversations, by newest message.")},
    )
    def get(self, request: Request) -> Response:
        """List a client's conversations, without archived ones."""
        data = self.query(shapes.ListQuery)
        page = conversations.page_of(
            data["client_id"], data["limit"], containing=data["q"].strip(), after=data["after"]
        )
        records = [_conversation_record(row) for row in page.conversations]
        return Response({"conversations": records, "next": page.next and str(page.next)})


_LOADED: dict[str, Any] = {
    "answers": {200: (shapes.LoadedBody, "All messages in order.")},
    "errors": (404,),
}


class LoadView(ChatView):
    # The POST reads, too.
    reads = True

    @documented("load_conversation", query=shapes.ConversationIdBody, **_LOADED)
    def get(self, request: Request) -> Response:
        """Return a conversation with its messages."""
        return _load_response(**self.query(shapes.ConversationIdBody))

    @documented("load_conversation_by_post", body=shapes.ConversationIdBody, **_LOADED)
    def post(self, request: Request) -> Response:
        """Return a conversation like the GET, for clients that send everything as JSON."""
        return _load_response(**self.read_body(shapes.ConversationIdBody))


class NewView(ChatView):
    @documented(
        "new_conversation",
        body=shapes.NewBody,
        answers={200: (shapes.NewConversationBody, "The conversation is created.")},
    )
    def post(self, request: Request) -> Response:
        """Create an empty conversation; a message sent without a conversation also creates one."""
        data = self.read_body(shapes.NewBody)
        conversation = conversations.create(data["client_id"], data["title"].strip())
        return Response({"conversation_id": str(conversation.pk)})


class RenameView(ChatView):
    @documented(
        "rename_conversation",
        body=shapes.RenameBody,
        answers={200: (shapes.ConversationBody, "The conversation is renamed.")},
        errors=(404,),
    )
    def post(self, request: Request) -> Response:
        """Rename a conversation."""
        data = self.read_body(shapes.RenameBody)
        conversation = conversations.conversation_of(data["client_id"], data["conversation_id"])
        return Response(_conversation_record(conversations.rename(conversation, data["title"])))


class DeleteView(ChatView):
    @documented(
        "delete_conversation",
        body=shapes.ConversationIdBody,
        answers={200: (shapes.DeletedBody, "The conversation is deleted.")},
        errors=(404,),
    )
    def post(self, request: Request) -> Response:
        """Delete a conversation with its messages and traces; its runs end."""
        data = self.read_body(shapes.ConversationIdBody)
        conversations.delete(conversations.conversation_of(**data))
        return Response({"status": "deleted"})


class RewindView(ChatView):
    @documented(
        "rewind_conversation",
        body=shapes.RewindBody,
        answers={200: (shapes.RewoundBody, "The message and all later ones are deleted.")},
        errors=(404, 409),
    )
    def post(self, request: Request) -> Response:
        """Delete a user's message and all later ones, to send it again; traces stay."""
        data = self.read_body(shapes.RewindBody)
        conversation = conversations.conversation_of(data["client_id"], data["conversation_id"])
        message = conversations.message_of(data["client_id"], data["message_id"])
        if message.conversation_id != conversation.pk:
            raise ChatError(NOT_FOUND, "Message not found", field="message_id")
        conversations.rewind(conversation, message)
        return Response({"status": "rewound"})


def _load_response(client_id: str, conversation_id: str) -> Response:
    """Return a client's conversation with its messages; raises NOT_FOUND."""
    conversation = conversations.conversation_of(client_id, conversation_id)
    traces = conversations.trace_ids_of(conversation)
    steps = conversations.answered_by_of(conversation)
    return Response(
        {
            "conversation_id": str(conversation.pk),
            "title": conversation.title,
            "messages": [
                _message_record(message, traces.get(message.pk), steps)
                for message in conversations.messages_of(conversation)
            ],
        }
    )


def _conversation_record(conversation: Conversation) -> dict[str, Any]:
    return {
        "conversation_id": str(conversation.pk),
        "title": conversation.title,
        "created_at": conversation.created_at,
        "last_message_at": conversation.last_message_at,
    }


def _message_record(
    message: Message, trace_id: UUID | None, steps: Mapping[UUID, list[str]]
) -> dict[str, Any]:
    """Return a message for the API; `steps` has the names of the answering steps by trace id."""
    has_steps = message.sender == Sender.ASSISTANT and trace_id in steps
    return {
        "message_id": str(message.pk),
        "sender": message.sender,
        "content": message.content,
        "thinking": message.thinking or None,
        "tool_calls": message.tool_calls,
        "parts": list(_message_parts(message)),
        "status": message.status,
        "branch": message.branch or None,
        "feedback": message.feedback or None,
        "trace_id": None if trace_id is None else str(trace_id),
        "answered_by": steps[trace_id] if has_steps and trace_id else [],
        "created_at": message.created_at,
        "edited_at": message.edited_at,
    }


def _message_parts(message: Message) -> Iterator[dict[str, Any]]:
    """Yield an answer's parts in order, from its stored rounds."""
    for round_ in message.rounds:
        for part in round_["parts"]:
            if "tool_call" in part:
                yield {"type": "tool_call", "id": part["tool_call"]["id"]}
            elif part.get("text"):
                yield {"type": "text", "content": part["text"]}
            elif part.get("thinking"):
                yield {"type": "thinking", "content": part["thinking"]}


class FeedbackView(ChatView):
    @documented(
        "give_feedback",
        body=shapes.FeedbackBody,
        answers={200: (shapes.FeedbackGivenBody, "The feedback is stored.")},
        errors=(404,),
    )
    def post(self, request: Request) -> Response:
        """Like or dislike a message, or remove the feedback."""
        data = self.read_body(shapes.FeedbackBody)
        message = conversations.message_of(data["client_id"], data["message_id"])
        conversations.set_feedback(message, data["feedback"], comment=data["comment"])
        return Response({"message_id": str(message.pk), "feedback": message.feedback or None})
