"""A conversation held line by line: each message is answered, or cancelled, before the next."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from chat_app.conversation_queries import as_uuid
from chat_app.errors import NOT_FOUND, ChatError
from chat_app.models import Conversation, ModelProfile
from chat_app.profiles import profile_named
from chat_app.service import StreamHandle, cancel, send_message
from chat_app.terminal import Screen
from mockllm_site.kit.database_thread import in_database
from traces_app.follow import follow

# Whose the conversations are that are begun so.
CLIENT: Final = "terminal"


@dataclass
class Talk:
    """One conversation, begun with its first message unless it is there already."""

    profile: ModelProfile
    screen: Screen
    conversation_id: UUID | None = None
    failed: bool = False
    _shown: int = field(default=0, repr=False)

    async def say(self, text: str) -> None:
        """Send a message and show its answer. To be cancelled is to cancel the answer."""
        sending = asyncio.ensure_future(self._send(text))
        try:
            try:
                await self._show(await asyncio.shield(sending))
            except asyncio.CancelledError:
                handle = await sending
                # It may have ended just now.
                with contextlib.suppress(ChatError):
                    await cancel(handle)
                await self._show(handle)
        except ChatError as error:
            self.failed = True
            self.screen.error(error.code, error.message)

    def end(self) -> None:
        if self.conversation_id is not None:
            self.screen.note(f"conversation {self.conversation_id}")

    async def _send(self, text: str) -> StreamHandle:
        handle = await send_message(
            self.conversation_id,
            text,
            self.profile,
            client_id=CLIENT if self.conversation_id is None else None,
        )
        self.conversation_id = handle.conversation_id
        self._shown = 0
        return handle

    async def _show(self, handle: StreamHandle) -> None:
        async for event in follow(handle.id, after=self._shown):
            self._shown = event.seq
            self.screen.show(event)
            self.failed = self.failed or event.type == "error"


async def begin_talk(profile: str | None, conversation: str | None, *, screen: Screen) -> Talk:
    """Raises ChatError for a profile or a conversation that is not there."""
    found = await in_database(partial(profile_named, profile))
    if conversation is None:
        return Talk(found, screen)
    return Talk(found, screen, await in_database(partial(_existing, conversation)))


def _existing(conversation: str) -> UUID:
    key = as_uuid(conversation)
    if key is None or not Conversation.objects.filter(pk=key).exists():
        raise ChatError(NOT_FOUND, "Conversation not found", field="conversation_id")
    return key
