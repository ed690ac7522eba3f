"""Probes: ways to measure."""

from typing import Final

MEMBERS: Final = {
    "rtprobe": "rtassay.probes.rtprobe:RtprobeProbe",
    "cyclictest": "rtassay.probes.cyclictest:CyclictestProbe",
    "follow": "rtassay.probes.follow:FollowProbe",
}
