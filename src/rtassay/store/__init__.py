"""Recordings on disk (wire/RECORDING.md): written while a run goes on, sealed at its end, opened again, listed.

Modules that need numpy or pyarrow, or that write, are imported at their first use: `find`, `load_manifest` and `load_findings` cost milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rtassay.store.finding import find
from rtassay.store.manifests import check_sizes, load_findings, load_manifest, load_sealed, save_findings, save_manifest
from rtassay.store.paths import default_directory, home, new_id

if TYPE_CHECKING:
    from rtassay.store.importing import import_events
    from rtassay.store.reading import histogram_from_samples, iter_samples, open_recording
    from rtassay.store.samples import with_order
    from rtassay.store.sealing import seal
    from rtassay.store.tracing import kernel_trace
    from rtassay.store.writer import RecordingWriter, is_running

_LAZY = {
    "RecordingWriter": "rtassay.store.writer",
    "import_events": "rtassay.store.importing",
    "histogram_from_samples": "rtassay.store.reading",
    "is_running": "rtassay.store.writer",
    "iter_samples": "rtassay.store.reading",
    "kernel_trace": "rtassay.store.tracing",
    "open_recording": "rtassay.store.reading",
    "seal": "rtassay.store.sealing",
    "with_order": "rtassay.store.samples",
}

__all__ = [
    "RecordingWriter",
    "check_sizes",
    "default_directory",
    "find",
    "histogram_from_samples",
    "home",
    "import_events",
    "is_running",
    "iter_samples",
    "kernel_trace",
    "load_findings",
    "load_manifest",
    "load_sealed",
    "new_id",
    "open_recording",
    "save_findings",
    "save_manifest",
    "seal",
    "with_order",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
