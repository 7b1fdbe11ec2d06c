"""Ports written without sight of the project."""
