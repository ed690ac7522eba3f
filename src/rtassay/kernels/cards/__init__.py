"""Kernels on the image of a card, or on the card itself, without root and without a board: files are written into its file systems."""
