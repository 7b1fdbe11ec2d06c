"""The HTML report: reports as data, and pages parsed."""
