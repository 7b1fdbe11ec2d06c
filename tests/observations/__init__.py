"""What `parity.observations` draws, for spaces drawn as well."""
