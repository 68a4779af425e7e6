"""OpenAI's Responses API with what it keeps."""
