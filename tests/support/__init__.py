"""Real parts that tests run against and that can be told to fail."""
