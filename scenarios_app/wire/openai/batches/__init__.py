"""OpenAI's files, and batches of requests that files hold."""
