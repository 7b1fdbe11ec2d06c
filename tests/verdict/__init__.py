"""A fixed sample of the benchmark's clean pairs and planted faults, checked for their verdicts."""
