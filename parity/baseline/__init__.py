"""The regression gate: what was accepted of each comparison, and what has become worse since."""
