"""The server that all tests of a run share: started early, and by one process for all workers."""
