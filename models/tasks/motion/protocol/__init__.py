"""Generated from ``proto/shifts/motion.proto``; do not edit."""
