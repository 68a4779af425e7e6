"""Programs that measure and attack a running server; `tools/README.md` lists them."""
