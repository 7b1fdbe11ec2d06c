"""Measures for a result: the rows of layers and outputs, what heads share, how values differ."""
