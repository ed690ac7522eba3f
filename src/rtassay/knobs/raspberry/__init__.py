"""Raspberry Pi."""
