"""The models that a list of Ollama's names without any script."""

MODELS: tuple[str, ...] = (
    "llama3.3",
    "llama3.2",
    "llama3.2-vision",
    "llama3.1",
    "gpt-oss:20b",
    "gpt-oss:120b",
    "qwen3",
    "qwen2.5-coder",
    "gemma3",
    "mistral",
    "phi4",
    "deepseek-r1",
    "nomic-embed-text",
    "mxbai-embed-large",
    "all-minilm",
)
