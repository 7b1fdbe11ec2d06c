"""Runs over time: kept in a SQLite file, and where a layer's difference moved; docs/history.md."""
