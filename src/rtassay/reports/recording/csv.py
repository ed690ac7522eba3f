"""CSV: the exact histograms, one bin a row."""

from __future__ import annotations

import csv
import io

from rtassay.model.foreign import csv_cell
from rtassay.reports.base import JudgedRecording


class CsvRecording:
    """Columns `lane,cpu,lower_ns,width_ns,count`; a row holds `count` samples in [lower_ns, lower_ns + width_ns).

    Samples beyond the source's last bin are one row with an empty width_ns: `count` samples at or above lower_ns. Samples below its
    first bin are one row with lower_ns and width_ns both empty. So the sum of `count` over a lane is always all its samples.
    """

    name = "recording.csv"
    suffix = ".csv"
    summary = "exact histograms, one bin a row: lane,cpu,lower_ns,width_ns,count"

    def render(self, subject: JudgedRecording) -> bytes:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("lane", "cpu", "lower_ns", "width_ns", "count"))
        for lane in subject.recording.lanes:
            cpu = "" if lane.entry.cpu is None else lane.entry.cpu
            name, histogram = csv_cell(lane.entry.name), lane.histogram
            lower, width = histogram.lower_ns.tolist(), histogram.width_ns.tolist()
            if histogram.under:
                writer.writerow((name, cpu, "", "", histogram.under))
            for row in zip(lower, width, histogram.counts.tolist(), strict=True):
                writer.writerow((name, cpu, *row))
            if histogram.over:
                end = lower[-1] + width[-1] if lower else 0
                begin = end if histogram.limit_ns is None else histogram.limit_ns
                writer.writerow((name, cpu, begin, "", histogram.over))
        return out.getvalue().encode("utf-8", "backslashreplace")
