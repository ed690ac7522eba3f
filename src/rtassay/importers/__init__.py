"""Importers: file formats of our own and other tools."""

from typing import Final

MEMBERS: Final = {
    "rtw": "rtassay.importers.rtw:RtwImporter",
    "console": "rtassay.importers.console:ConsoleImporter",
    "cyclictest": "rtassay.importers.cyclictest:CyclictestImporter",
    "cyclictest-verbose": "rtassay.importers.cyclictest_verbose:CyclictestVerboseImporter",
    "cyclictest-json": "rtassay.importers.cyclictest_json:CyclictestJsonImporter",
    "csv-histogram": "rtassay.importers.riva_csv:RivaCsvImporter",
    "jitterdebugger": "rtassay.importers.jitterdebugger:JitterdebuggerImporter",
    "jitterdebugger-raw": "rtassay.importers.jitterdebugger_raw:JitterdebuggerRawImporter",
    "rtla-timerlat": "rtassay.importers.rtla_timerlat:RtlaTimerlatImporter",
    "rtla-osnoise": "rtassay.importers.rtla_osnoise:RtlaOsnoiseImporter",
    "oslat": "rtassay.importers.oslat:OslatImporter",
    "cyclicdeadline": "rtassay.importers.cyclicdeadline:CyclicdeadlineImporter",
    "hwlatdetect": "rtassay.importers.hwlatdetect:HwlatdetectImporter",
    "rteval": "rtassay.importers.rteval:RtevalImporter",
    "benchkit": "rtassay.importers.benchkit:BenchkitImporter",
    "rt-bench": "rtassay.importers.rt_bench:RtBenchImporter",
    "osadl": "rtassay.importers.osadl:OsadlImporter",
    "hgrm": "rtassay.importers.hgrm:HgrmImporter",
    "table": "rtassay.importers.table:TableImporter",
    "parquet": "rtassay.importers.parquet:ParquetImporter",
}
