"""The reference formulas against independent implementations, and against their own mutants."""
