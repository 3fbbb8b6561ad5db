"""Random specs and their independent meaning."""
