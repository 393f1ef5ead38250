"""Networks of robust imitative planning (Shifts 1.0, E.4). Everything but ``masks`` and ``settings`` needs torch."""
