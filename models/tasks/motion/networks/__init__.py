"""The networks of robust imitative planning (Shifts 1.0, E.4). Everything but ``masks`` needs torch."""
