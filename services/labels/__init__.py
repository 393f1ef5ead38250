"""Label service: intake of labels, review queue, resolutions and webhooks, as changes of the ledger."""
