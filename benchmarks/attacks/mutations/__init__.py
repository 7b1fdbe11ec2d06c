"""Random programs, compiled to two frameworks, one side of them changed at one place."""
