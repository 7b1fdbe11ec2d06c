"""Ports that were written as engineers write them, by people who had not seen this project."""
