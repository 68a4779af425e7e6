"""Django's middleware for the pages, in the event loop; providers' requests pass by."""
