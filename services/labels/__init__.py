"""Labels as they come, requests for them, and what becomes of deferred units: effects on the ledger."""
