"""The kernel itself: how it was built and what it was told."""
