"""Stubs generated from ``proto/demur/v1`` by ``make protos``; callers use :mod:`demur` instead."""
