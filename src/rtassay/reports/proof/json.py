"""JSON: the object of `rtassay prove --json`."""

from __future__ import annotations

from rtassay.model.proving import Proof, proof_dict
from rtassay.reports import json_lines


class JsonProof:
    """Schema rtassay/prove/1."""

    name = "proof.json"
    suffix = ".json"
    summary = "the whole campaign as one JSON object (schema rtassay/prove/1)"

    def render(self, subject: Proof) -> bytes:
        return json_lines.document(proof_dict(subject))
