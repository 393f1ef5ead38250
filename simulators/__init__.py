"""Simulators that write labelled data in the official formats; the serving code does not import them."""
