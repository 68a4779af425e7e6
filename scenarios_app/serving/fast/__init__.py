"""What exists only for speed: direct answers of `serve`, without ASGI and Django's view. Only
`mockllm_site.serve` imports it."""
