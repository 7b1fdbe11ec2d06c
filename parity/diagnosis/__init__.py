"""Where two tapes diverge, found from what matched and proved by repair."""
