"""No cause of this family yet."""
