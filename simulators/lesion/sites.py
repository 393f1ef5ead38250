"""Parameters of the six simulated sites: scanner, contrasts, patients and raters."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contrast:
    """Signal of tissues relative to white matter, and its variation from scan to scan."""

    grey: float
    fluid: float
    lesion: float
    """Signal of an average lesion on FLAIR, or of a lesion without a black hole on T1."""
    spread: float
    """Standard deviation over scans of the logarithm of (grey - 1), fluid and (lesion - 1), together and apart."""
    noise: float
    """Standard deviation of the noise in one acquired voxel."""


@dataclass(frozen=True, slots=True)
class Raters:
    """Drawing habits of a team of raters."""

    count: int
    border: float
    """Share of a voxel from which it is drawn; lower is more generous."""
    disagreement: float
    """Standard deviation of that share between raters."""
    smallest: int
    """Smallest lesion that is drawn, voxels."""
    overlooked: float
    """Volume of a lesion of average brightness that half of the raters see, mm³."""


@dataclass(frozen=True, slots=True)
class Site:
    """Site of the study; numbers are modelled on Tables 1 and 6 of Shifts 2.0."""

    name: str
    shifted: bool
    flair: Contrast
    t1: Contrast
    voxel: tuple[float, float, float]
    """Voxel size of the acquired FLAIR towards right, front and top, mm."""
    bias: float
    """Standard deviation of the logarithm of the bias field that remains after correction."""
    unit: float
    """Signal of white matter in the scanner's units, ±40 %."""
    load: tuple[float, float]
    """Mean and standard deviation of the total lesion volume, ml."""
    lesions: float
    """Median number of lesions of a patient with 10 ml; grows as the root of the volume."""
    raters: Raters


_T1 = Contrast(0.72, 0.28, 0.86, 0.10, 0.022)

SITES = {
    site.name: site
    for site in (
        Site(
            "site_a",
            False,
            Contrast(1.20, 0.12, 1.52, 0.16, 0.055),
            _T1,
            (1.10, 0.50, 0.50),
            0.025,
            420.0,
            (15.0, 15.0),
            72,
            Raters(7, 0.45, 0.05, 3, 6.0),
        ),
        Site(
            "site_b",
            False,
            Contrast(1.30, 0.20, 1.64, 0.16, 0.050),
            _T1,
            (0.90, 0.47, 0.47),
            0.030,
            1800.0,
            (13.0, 12.0),
            66,
            Raters(7, 0.45, 0.05, 3, 6.0),
        ),
        Site(
            "site_c",
            False,
            Contrast(1.16, 0.10, 1.46, 0.16, 0.065),
            _T1,
            (1.25, 1.03, 1.03),
            0.020,
            240.0,
            (18.0, 18.0),
            72,
            Raters(7, 0.47, 0.05, 3, 6.0),
        ),
        Site(
            "site_d",
            False,
            Contrast(1.25, 0.15, 1.58, 0.16, 0.050),
            _T1,
            (0.82, 0.82, 2.20),
            0.030,
            900.0,
            (10.0, 10.0),
            60,
            Raters(2, 0.42, 0.06, 4, 8.0),
        ),
        Site(
            "site_e",
            True,
            Contrast(1.17, 0.05, 1.47, 0.14, 0.062),
            _T1,
            (0.80, 0.47, 0.47),
            0.035,
            75.0,
            (17.0, 15.0),
            190,
            Raters(3, 0.50, 0.07, 1, 3.0),
        ),
        Site(
            "site_f",
            True,
            Contrast(1.32, 0.28, 1.56, 0.14, 0.065),
            _T1,
            (1.00, 1.00, 1.20),
            0.040,
            300.0,
            (3.9, 3.9),
            180,
            Raters(2, 0.50, 0.08, 3, 3.0),
        ),
    )
}
