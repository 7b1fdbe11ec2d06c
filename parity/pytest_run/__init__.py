"""What the plugin does in a run of pytest; its hooks and options are in parity/pytest_plugin.py."""
