"""The environment, read once and typed: everything a deployment may change."""
