"""Every client of the matrix, under the name that its wire has in the docs."""

from tests.sdk.matrix import matrix_anthropic, matrix_google, matrix_ollama, matrix_openai
from tests.sdk.matrix.matrix_client import MatrixClient

CLIENTS: dict[str, MatrixClient] = {
    "OpenAI chat": matrix_openai.CHAT,
    "OpenAI completions": matrix_openai.COMPLETIONS,
    "OpenAI Responses": matrix_openai.RESPONSES,
    "Anthropic messages": matrix_anthropic.MESSAGES,
    "Gemini": matrix_google.GENERATE_CONTENT,
    "Ollama chat": matrix_ollama.CHAT,
    "Ollama generate": matrix_ollama.GENERATE,
}
