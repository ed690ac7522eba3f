"""Probes: ways to measure."""

from typing import Final

MEMBERS: Final = {
    "rtprobe": "rtassay.probes.rtprobe:RtprobeProbe",
    "cyclictest": "rtassay.probes.cyclictest:CyclictestProbe",
    "jitterdebugger": "rtassay.probes.jitterdebugger:JitterdebuggerProbe",
    "oslat": "rtassay.probes.oslat:OslatProbe",
    "work": "rtassay.probes.work:WorkProbe",
    "follow": "rtassay.probes.follow:FollowProbe",
}
