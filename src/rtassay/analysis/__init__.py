"""Recordings to findings, checks and verdicts: pure functions, without I/O, clock or printing.

Floors, each imports only those before it: `lane` (the numbers of one lane), `checks` (is the recording valid?), `judge` (one recording
to its findings and verdict) beside `tail` (levels beyond the data), `many` (repeats, comparisons, experiments, published results).
"""
