"""One summary of a comparison, and its renderers: terminal and JSON."""
