"""Interrupts, and the kernel's own work."""
