"""Weights as they lie in files: read and written without running what a file holds."""
