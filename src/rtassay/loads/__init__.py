"""Loads: what keeps the board busy while it is measured."""

from typing import Final

MEMBERS: Final = {
    "stress-ng": "rtassay.loads.stress_ng:StressNgLoad",
    "builtin": "rtassay.loads.builtin:BuiltinLoad",
    "none": "rtassay.loads.none:NoLoad",
}
