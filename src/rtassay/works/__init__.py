"""Works: fixed amounts of work, whose time tells what a kernel costs."""

from typing import Final

MEMBERS: Final = {
    "builtin": "rtassay.works.builtin:BuiltinWork",
    "hackbench": "rtassay.works.hackbench:HackbenchWork",
    "stress-ng": "rtassay.works.stress_ng:StressNgWork",
    "compile": "rtassay.works.compile:CompileWork",
    "fio": "rtassay.works.fio:FioWork",
    "iperf3": "rtassay.works.iperf3:Iperf3Work",
}
