"""The frame, proven on three toy tenants through real servers."""
