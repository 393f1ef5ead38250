"""Lesion requests: a scan's files, the maps to answer, and the descriptions that all protocols give of them."""

from dataclasses import dataclass

from models.tasks.lesion.data import files

_NIFTI = "NIfTI-1 or NIfTI-2 file, plain or gzipped"
INPUTS = {
    "flair": f"FLAIR image, {_NIFTI}",
    "t1": f"T1-weighted image on the grid of the FLAIR image, {_NIFTI}; if the model needs it",
    "brain_mask": f"Optional mask of the brain, 0 and 1 on the grid of the FLAIR image, {_NIFTI}",
}
"""Files of a scan: name to description. A form needs ``flair``; ``t1`` is needed by models that use it."""
NAME = "the caller's own name of the scan, answered as it came; never stored"
"""Description of ``ScanRequest.name``."""


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """Scan to segment, with its files as received; empty if a file is absent."""

    flair: bytes
    t1: bytes = b""
    brain_mask: bytes = b""
    maps: tuple[str, ...] = ()
    """Names of the requested maps; empty: all that the model has."""
    name: str = ""
    arrays: bool = False
    """True to return maps as arrays instead of files."""
    encoding: files.Encoding = "float32"
    """Encoding of numeric maps in files."""
