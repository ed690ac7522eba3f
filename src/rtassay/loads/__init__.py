"""Loads keep the board busy while it is measured."""

from typing import Final

MEMBERS: Final = {
    "stress-ng": "rtassay.loads.stress_ng:StressNgLoad",
    "stress": "rtassay.loads.stress:StressLoad",
    "hackbench": "rtassay.loads.hackbench:HackbenchLoad",
    "iperf3": "rtassay.loads.iperf3:Iperf3Load",
    "iperf": "rtassay.loads.iperf:IperfLoad",
    "glmark2": "rtassay.loads.glmark2:Glmark2Load",
    "kmscube": "rtassay.loads.kmscube:KmscubeLoad",
    "builtin": "rtassay.loads.builtin:BuiltinLoad",
    "command": "rtassay.loads.command:CommandLoad",
    "none": "rtassay.loads.none:NoLoad",
}
