"""Pairs that compute the same thing, a file per family; `catalogue.py` lists them all."""
