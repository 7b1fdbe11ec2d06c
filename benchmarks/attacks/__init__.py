"""Attacks on the verdict: pairs that differ for real and might pass, beside their correct twins."""
