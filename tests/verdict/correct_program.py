"""A correct program: `python -m tests.verdict.correct_program URL SDK CLIENTS ATTEMPTS KEY …`.

Clients that ask the same question side by side, for each key first in threads and then, under the
key `KEY-async`, on one event loop. Prints how many calls of each key succeeded.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import openai
from google import genai

QUESTION: list[Any] = [{"role": "user", "content": "Hello"}]
ERRORS = (openai.APIError, anthropic.APIError, genai.errors.APIError)


def call(sdk: str, url: str, key: str, attempts: int) -> Callable[[], Any]:
    """Return a call of a new synchronous client with this number of attempts."""
    options: dict[str, Any] = {"api_key": key, "max_retries": attempts - 1}
    match sdk:
        case "openai":
            chat = openai.OpenAI(base_url=f"{url}/v1", **options).chat.completions
            return lambda: chat.create(model="gpt-4o", messages=QUESTION)
        case "anthropic":
            messages = anthropic.Anthropic(base_url=url, **options).messages
            return lambda: messages.create(model="claude-opus-4", max_tokens=9, messages=QUESTION)
        case _:
            google = google_client(url, key, attempts)
            return lambda: google.models.generate_content(model="gemini-2.5-pro", contents="Hello")


def async_call(sdk: str, url: str, key: str, attempts: int) -> Callable[[], Awaitable[Any]]:
    """Return a call of a new asynchronous client with this number of attempts."""
    options: dict[str, Any] = {"api_key": key, "max_retries": attempts - 1}
    match sdk:
        case "openai":
            chat = openai.AsyncOpenAI(base_url=f"{url}/v1", **options).chat.completions
            return lambda: chat.create(model="gpt-4o", messages=QUESTION)
        case "anthropic":
            messages = anthropic.AsyncAnthropic(base_url=url, **options).messages
            return lambda: messages.create(model="claude-opus-4", max_tokens=9, messages=QUESTION)
        case _:
            models = google_client(url, key, attempts)
            return lambda: models.aio.models.generate_content(
                model="gemini-2.5-pro", contents="Hello"
            )


def google_client(url: str, key: str, attempts: int) -> genai.Client:
    retry = genai.types.HttpRetryOptions(attempts=attempts, initial_delay=0.5)
    options = genai.types.HttpOptions(base_url=url, retry_options=retry)
    return genai.Client(api_key=key, http_options=options)


def is_successful(call_once: Callable[[], Any]) -> bool:
    try:
        call_once()
    except ERRORS:
        return False
    return True


async def gather(calls: list[Callable[[], Awaitable[Any]]]) -> int:
    answers = await asyncio.gather(*(start_call() for start_call in calls), return_exceptions=True)
    return sum(not isinstance(start_call, BaseException) for start_call in answers)


def main(url: str, sdk: str, clients: str, attempts: str, *keys: str) -> None:
    for key in keys:
        calls = [call(sdk, url, key, int(attempts)) for _ in range(int(clients))]
        with ThreadPoolExecutor(len(calls)) as threads:
            print(sum(threads.map(is_successful, calls)))
        # One shared client, as in most programs.
        async_calls = [async_call(sdk, url, f"{key}-async", int(attempts))] * int(clients)
        print(asyncio.run(gather(async_calls)))


if __name__ == "__main__":
    main(*sys.argv[1:])
