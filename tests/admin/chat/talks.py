"""Creates conversations with all related records, and lists their admin pages."""

from typing import Any

from chat_app.conversations import append_message, create
from chat_app.models import (
    ABComparison,
    ContextState,
    Conversation,
    Message,
    MessageStatus,
    ModelProfile,
    Sender,
)
from traces_app.models import ModelCall, Status, Trace, TraceEvent

MODEL = "the-model-that-nobody-may-know-yet"
LISTS = {
    model: f"/admin/{model.replace('.', '/')}/"
    for model in (
        "chat_app.modelprofile",
        "chat_app.conversation",
        "chat_app.message",
        "chat_app.contextstate",
        "chat_app.abcomparison",
        "traces_app.trace",
    )
}


def create_conversation(text: str = "words", *, preference: str = "") -> Conversation:
    """Create a conversation answered by two profiles, with all related records."""
    conversation = create(text[:200], text[:200])
    conversation.tags = [text]
    conversation.save()
    question = append_message(conversation, Sender.USER, content=text)
    traces = {}
    for branch in ("a", "b"):
        answer_message = append_message(
            conversation,
            Sender.ASSISTANT,
            content=text,
            thinking=text,
            branch=branch,
            provider_id="openai",
            model_id=MODEL,
            tool_calls=[{"id": text, "name": text, "arguments": {text: text}, "result": text}],
            rounds=[{"parts": [{"text": text}], "results": []}],
            status=MessageStatus.COMPLETE,
            feedback_comment=text,
        )
        trace = Trace.objects.create(
            conversation=conversation,
            user_message=question,
            message=answer_message,
            branch=branch,
            profile_name=f"profile {MODEL}",
            provider_id="openai",
            model_id=MODEL,
            status=Status.COMPLETED,
            error=text,
            note=text,
            tags=[text],
        )
        TraceEvent.objects.create(trace=trace, seq=1, type="chunk", payload={"content": text})
        ModelCall.objects.create(
            trace=trace, number=1, model_id=MODEL, parts=[{"text": text}], tools=[text]
        )
        traces[branch] = trace
    ABComparison.objects.create(
        conversation=conversation,
        user_message=question,
        seed=1,
        profile_a_name=f"a {MODEL}",
        profile_b_name=f"b {MODEL}",
        trace_a=traces["a"],
        trace_b=traces["b"],
        preference=preference,
        comment=text,
    )
    ContextState.objects.create(
        conversation=conversation, strategy="sandwich", summary=text, first=1, last=1,
        message_count=1,
    )  # fmt: skip
    return conversation


def page_urls() -> list[str]:
    """Return the URLs of every list, and of the change and history page of every row."""
    rows: list[Any] = [
        *Conversation.objects.all(),
        *Message.objects.all(),
        *ContextState.objects.all(),
        *ABComparison.objects.all(),
        *Trace.objects.all(),
        *ModelProfile.objects.all(),
    ]
    row_urls = [f"{LISTS[row._meta.label_lower]}{row.pk}/change/" for row in rows]
    return [
        *LISTS.values(),
        *row_urls,
        *(page.replace("/change/", "/history/") for page in row_urls),
    ]
