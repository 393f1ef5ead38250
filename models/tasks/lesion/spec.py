"""What the lesion task is: its head and its official conventions (Shifts 2.0, section 3 and appendix C)."""

from __future__ import annotations

from models.head import Head

LESIONS = Head(
    name="lesions",
    kind="volume",
    unit="1",
    label="lesion mask of the scan, 0 or 1 a voxel of 1 mm",
    error="ndsc_error",
    error_unit="1",
    acceptable=None,
    ensemble_measure="scan_structural_uncertainty",
    single_measure="entropy",
    knowledge_measure="mi",
)
HEADS = (LESIONS,)
