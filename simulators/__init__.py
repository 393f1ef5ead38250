"""Worlds that make labelled data in the official formats; nothing that serves imports them."""
