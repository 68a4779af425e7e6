"""A tool loop on google-genai: `[stream] [careful]`."""

import sys

from google import genai
from google.genai import types
from tool import DESCRIPTION, QUESTION, SCHEMA, give_up, result_of

STREAM, CAREFUL = "stream" in sys.argv, "careful" in sys.argv
TOOL = types.Tool(
    function_declarations=[
        {"name": "get_weather", "description": DESCRIPTION, "parameters_json_schema": SCHEMA}
    ]
)
# The SDK tries once by default.
RETRIES = types.HttpOptions(retry_options=types.HttpRetryOptions(attempts=3))
client = genai.Client(http_options=RETRIES if CAREFUL else None)
contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]


def ask() -> tuple[list[types.Part], str]:
    """Return the parts of the next answer and its finish reason."""
    options = {"model": "gemini-2.5-flash", "contents": contents}
    options["config"] = types.GenerateContentConfig(tools=[TOOL])
    models = client.models
    answers = (
        models.generate_content_stream(**options)
        if STREAM
        else [models.generate_content(**options)]
    )
    parts, finish = [], ""
    for answer in answers:
        for candidate in answer.candidates or []:
            if candidate.content:
                parts += candidate.content.parts or []
            if candidate.finish_reason:
                finish = candidate.finish_reason.name
    return parts, finish


while True:
    parts, finish = ask()
    calls = [part.function_call for part in parts if part.function_call]
    if CAREFUL and finish not in ("STOP", "MALFORMED_FUNCTION_CALL"):
        give_up(f"the answer is not whole: finish_reason {finish or 'missing, ended early'}")
    if not calls:
        break
    contents.append(types.Content(role="model", parts=parts))
    results = [
        types.Part.from_function_response(
            name=call.name, response={"result": result_of(call.name, call.args)}
        )
        for call in calls
    ]
    contents.append(types.Content(role="user", parts=results))
text = "".join(part.text or "" for part in parts)
if CAREFUL and not text:
    give_up("the answer is empty")
print(text)
