"""Measurements, each as a ratio within one run: `make bench`, or `python -m bench NAME …`."""
