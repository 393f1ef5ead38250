"""Generated from ``proto/inference/oip.proto``; do not edit."""
