"""The field's reference formulas in NumPy: what a policy decides from its outputs."""
