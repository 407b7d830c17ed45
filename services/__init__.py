"""The work itself: one vendor a file, plain functions, errors named by their remedy."""
