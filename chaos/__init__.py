"""Faults strike real processes while they work; afterwards every job is accounted for: `make chaos`."""
