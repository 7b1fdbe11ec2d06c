"""Models of public packages, held against what another package or framework has for the same."""
