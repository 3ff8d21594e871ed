"""From the graph to another tool's language, and running that tool."""
