"""Probes: ways to measure."""

from typing import Final

MEMBERS: Final = {
    "rtprobe": "rtassay.probes.rtprobe:RtprobeProbe",
    "cyclictest": "rtassay.probes.cyclictest:CyclictestProbe",
    "jitterdebugger": "rtassay.probes.jitterdebugger:JitterdebuggerProbe",
    "oslat": "rtassay.probes.oslat:OslatProbe",
    "rtla-timerlat": "rtassay.probes.rtla_timerlat:RtlaTimerlatProbe",
    "rtla-osnoise": "rtassay.probes.rtla_osnoise:RtlaOsnoiseProbe",
    "cyclicdeadline": "rtassay.probes.cyclicdeadline:CyclicdeadlineProbe",
    "hwlatdetect": "rtassay.probes.hwlatdetect:HwlatdetectProbe",
    "rteval": "rtassay.probes.rteval:RtevalProbe",
    "work": "rtassay.probes.work:WorkProbe",
    "follow": "rtassay.probes.follow:FollowProbe",
}
