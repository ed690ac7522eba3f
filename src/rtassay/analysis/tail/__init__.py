"""Levels beyond the data, with an interval, or a refusal with its reason (docs/method/extrapolation.md)."""

from rtassay.analysis.tail.clusters import Run
from rtassay.analysis.tail.extrapolating import extrapolate
from rtassay.analysis.tail.reading import extrapolate_recordings

__all__ = ["Run", "extrapolate", "extrapolate_recordings"]
