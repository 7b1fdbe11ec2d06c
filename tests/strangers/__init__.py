"""The bench of public packages' models."""
