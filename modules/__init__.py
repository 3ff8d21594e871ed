"""How Google Cloud wants one thing described: one file per capability, each adds resources to a graph."""
