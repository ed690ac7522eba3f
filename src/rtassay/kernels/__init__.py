"""Kernels: building them, keeping the builds, and putting them onto images of cards."""
