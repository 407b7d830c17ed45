"""Measurements, each as ratios within one run: `make bench`."""
