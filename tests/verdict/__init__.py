"""A fixed sample of the benchmark's clean pairs and planted faults, held to their verdicts."""
