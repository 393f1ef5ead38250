# Generated from demur/_async/__init__.py by tests/regenerate_blocking_client.py. Edit that file instead.
