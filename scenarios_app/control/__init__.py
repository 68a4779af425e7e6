"""The control API: scenarios, sessions, the journal and what it proves, as JSON over HTTP.

Views are synchronous: they work on the database, in a thread. What they ask of the state goes
through `async_to_sync`, which runs it on the event loop that serves the request, the only one on
which every `StateStore` works, and waits for it. They do no work of their own there: what takes
time (explaining, verifying) stays in the thread, so that no stream waits for it.
"""
