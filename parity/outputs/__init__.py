"""What a model returns, whatever its structure: every leaf by its path."""
