"""The control API: scenarios, sessions, journal, verification and verdicts as JSON over HTTP.

Views are synchronous and run in a thread, since they use the database. They reach the state through
`async_to_sync`, which runs the call on the event loop that serves the request: the only loop on
which every `StateStore` works. Slow work (explaining, verifying) stays in the thread, so that no
stream waits for it.
"""
