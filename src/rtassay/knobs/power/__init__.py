"""Clocks, idle states and power."""
