"""The database: tables, the ledger that holds every job's state, and migrations."""
