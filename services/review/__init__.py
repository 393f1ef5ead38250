"""Review console: a page on which people label deferred units, its sessions, and a relay to the services."""
