"""The fast layer of `serve`: direct answers without ASGI and Django's view. Only
`mockllm_site.serve` imports it."""
