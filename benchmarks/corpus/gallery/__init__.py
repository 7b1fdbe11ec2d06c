"""Planted faults: pairs of small models with the expected place and cause; and clean pairs."""
