"""The report as a page; see render.py."""
