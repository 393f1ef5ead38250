"""The reference ensemble on real scans: both protocols answer alike, and other libraries find the maps in place."""

from pathlib import Path

import nibabel
import numpy as np
import pytest
import SimpleITK

from models import artefact
from models.assessment.segmentation import ndsc
from tests.models.lesion.heads import unpacked
from tests.services.tasks.lesion.conftest import serving
from tests.services.tasks.lesion.test_service import contents, of_message, same

pytestmark = pytest.mark.long

REFERENCE = Path(__file__).resolve().parents[4] / "artefacts" / "lesion" / "unet-5"


@pytest.mark.slow
@pytest.mark.parametrize("patient", ["patient07", "patient19", "patient26"])
async def test_a_real_scan_is_answered_alike_in_its_own_place(test_data: Path, tmp_path: Path, patient: str) -> None:
    folder = test_data / "lesion" / "ljubljana_cross_sectional" / patient
    flair = (folder / "FLAIR.nii.gz").read_bytes()
    async with serving(artefact.read(REFERENCE)) as served:
        answer, message = await served.answer(flair), await served.message(flair)
    same(answer, message)
    files = contents(answer)
    assert files == of_message(message)
    came = SimpleITK.ReadImage(str(folder / "FLAIR.nii.gz"))
    for name, content in files.items():
        path = tmp_path / f"{name}.nii.gz"
        path.write_bytes(content)
        image = SimpleITK.ReadImage(str(path))
        assert image.GetSize() == came.GetSize()
        np.testing.assert_allclose(image.GetOrigin(), came.GetOrigin(), atol=1e-4)
        np.testing.assert_allclose(image.GetDirection(), came.GetDirection(), atol=1e-6)
        np.testing.assert_allclose(image.GetSpacing(), came.GetSpacing(), atol=1e-6)
    truth = np.asarray(nibabel.load(folder / "lesion_mask.nii.gz").dataobj) == 1
    mask = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(tmp_path / "mask.nii.gz"))).transpose(2, 1, 0) == 1
    assert ndsc(truth, mask) > 0.15, "trained on simulated brains only, it is far better than chance on real ones"
    assert answer["resampled"] is False
    assert [remark["code"] for remark in answer["remarks"] if remark["code"] == "looks_raw"] == []


async def test_raw_clinical_scans_are_flagged(test_data: Path) -> None:
    folder = test_data / "lesion" / "ljubljana_longitudinal_raw"
    async with serving(artefact.read(REFERENCE)) as served:
        answer = await served.answer((folder / "patient20" / "study2_FLAIR.nii.gz").read_bytes(), maps="mask")
    assert {"looks_raw", "thick_slices"} <= {remark["code"] for remark in answer["remarks"]}
    assert "outside_training_range" in answer["shifted"]
    assert answer["resampled"] is True
    came = nibabel.load(folder / "patient20" / "study2_FLAIR.nii.gz")
    mask = unpacked(contents(answer)["mask"])
    assert mask.shape == came.shape
    np.testing.assert_allclose(mask.affine, came.affine, atol=1e-3)
