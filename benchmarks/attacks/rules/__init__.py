"""The attacks that were written by hand, a file for each group of rules."""
