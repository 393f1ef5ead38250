"""Head and official conventions of the lesion task (Shifts 2.0, section 3 and appendix C)."""

from models.card import Words
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

CARD = Words(
    families={
        "unet": "3D U-Nets of MONAI over windows of the brain (Shifts 2.0, section 3).",
        "unet_mcdp": "3D U-Nets of MONAI trained with 50 % dropout of channels and run with frozen masks: Monte Carlo "
        "dropout (Shifts 2.0, section 3).",
        "unetr": "UNETRs of MONAI, a transformer over patches with a decoder of convolutions (Hatamizadeh et al. 2022; "
        "Shifts 2.0, section 3).",
    },
    predicts="Predicts white-matter lesions of multiple sclerosis in skull-stripped, bias-corrected brain MRI (FLAIR, "
    "maybe T1), with uncertainties of voxels, lesions and the scan.",
    not_for="diagnosis, treatment or any other clinical use.",
    figures="nDSC and Dice of the whole volume, F1 of lesions that overlap by half (IoU), and area above the nDSC "
    "retention curve inside the brain (voxel_r_aac), means over so many scans, by the released conventions; ndsc_se "
    "is the standard error of the mean nDSC.",
    notice="Research software, not a medical device.",
    units="scans",
)
