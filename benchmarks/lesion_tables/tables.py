"""Rows and columns of the paper's tables, as the page prints them; nothing here needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]

SINGLE, ENSEMBLE, MCDP = "Single", "Deep Ensemble", "MCDP"


@dataclass(frozen=True)
class Row:
    """A row of Tables 9 to 11."""

    name: str
    architecture: str
    dropout: str
    kind: str

    @property
    def r_auc(self) -> str:
        """Name of the area of the row's own measure."""
        return "r_aac_entropy" if self.kind == SINGLE else "r_aac_rmi"


UNET, UNET_ENSEMBLE = Row("unet", "UNET", "0.0", SINGLE), Row("unet-ensemble", "UNET", "0.0", ENSEMBLE)
DROPOUT, DROPOUT_MCDP = Row("unet-dp", "UNET", "0.5", SINGLE), Row("unet-mcdp", "UNET", "0.5", MCDP)
UNETR, UNETR_ENSEMBLE = Row("unetr", "UNETR", "0.0", SINGLE), Row("unetr-ensemble", "UNETR", "0.0", ENSEMBLE)
BOTH = Row("both", "UNET ⊕ UNETR", "0.0", ENSEMBLE)
"""Not in the paper."""
ROWS = (UNET, UNET_ENSEMBLE, DROPOUT, DROPOUT_MCDP, UNETR, UNETR_ENSEMBLE, BOTH)
TITLES = {"dev_in": "Dev in", "dev_out": "Dev out", "eval_in": "Evl in", "eval_out": "Evl out"}


class Figures(Protocol):
    """Tables 2, 8, 9, 10 and 11."""

    def mean(self, row: Row, split: str, name: str) -> float:
        """``ndsc``, ``lesion_f1`` or an area (``Row.r_auc``) as a share, over scans and models."""

    def pearson(self, split: str, name: str) -> float:
        """Correlation of ``dice`` or ``ndsc`` of the U-Net ensemble with lesion load."""


WAYS = ("In-domain Dev", "Out-domain Train + Dev", "Out-domain Test")
"""How Table 4 chooses thresholds: on the development scans of the training site; on training and development scans of
the site that is tested; on the test scans themselves (an upper bound)."""


@dataclass(frozen=True)
class Crossed:
    """Table 4: mean nDSC [training site, test site] by way of choosing the threshold; NaN where there is none."""

    ndsc: Mapping[str, Float64]
    own: Float64
    """Thresholds of the first way, [training site]."""


@dataclass(frozen=True)
class Excluded:
    """Table 5, one row: figures of each model [models] on ``in``, ``out`` and the last site."""

    site: str
    kind: str
    ndsc: Mapping[str, Float64]
    r_auc: Mapping[str, Float64]
