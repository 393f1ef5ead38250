"""A segmentation's files are read by evaluation and by other libraries, and say what the segmentation says."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.unit_errors import ErrorOptions
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data import files, predictions
from models.tasks.lesion.data.image import read_scan
from models.tasks.lesion.inference.segment import segment
from models.tasks.lesion.inference.segmentation import Segmentation
from tests.models.lesion.heads import Bright, head, packed, unpacked

HEAD = head()
AFFINE = np.array([[-1.0, 0, 0, 27], [0, 1, 0, -30], [0, 0, 1, -26], [0, 0, 0, 1]])


def segmented(members: int = 3) -> Segmentation:
    recipe = Recipe(window=(32, 32, 32), voxel_trust=0.01, lesion_trust=0.3)
    return segment(read_scan({"flair": packed(HEAD, AFFINE)}, ("flair",)), Bright(members), recipe)


@pytest.mark.parametrize("members", [1, 3])
def test_every_map_is_a_file_on_the_grid_of_the_scan(members: int) -> None:
    segmentation = segmented(members)
    assert files.names(segmentation)[0] == "mask"
    assert set(files.names(segmentation)) == {"mask", *segmentation.maps}
    for name in files.names(segmentation):
        image = unpacked(files.encoded(segmentation, name))
        assert np.array_equal(image.affine, AFFINE)
        slack = 0.5 / files.PROBABILITY_STEPS if name == "probability" else 0
        values = segmentation.mask if name == "mask" else segmentation.maps[name]
        np.testing.assert_allclose(np.asarray(image.dataobj), values, rtol=0, atol=slack)
        assert image.get_data_dtype() == (np.uint8 if name in ("mask", "advice") else np.float32)
    with pytest.raises(KeyError):
        files.encoded(segmentation, "magic")


@pytest.mark.parametrize("members", [1, 3])
def test_evaluation_reads_the_official_files(members: int, tmp_path: Path) -> None:
    segmentation = segmented(members)
    for name, content in files.official(segmentation, "7"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "7_gt_isovox.nii.gz").write_bytes(packed((HEAD > 150).astype(np.uint8), AFFINE))
    (tmp_path / "7_isovox_fg_mask.nii.gz").write_bytes(packed((HEAD != 0).astype(np.uint8), AFFINE))
    judged = predictions.read(tmp_path, ErrorOptions())
    assert judged.own is not None
    assert judged.own(None)["dice"] > 0.9
    measures = {name: float(values[0]) for name, values in judged.measures.items()}
    expected = {"mean_entropy": segmentation.means.total}
    if members > 1:
        assert segmentation.means.rmi is not None
        assert segmentation.means.knowledge is not None
        expected |= {"mean_rmi": segmentation.means.rmi, "mean_mi": segmentation.means.knowledge}
    assert {name: measures[name] for name in expected} == pytest.approx(expected, rel=1e-4)


def test_tables_say_what_the_segmentation_says() -> None:
    segmentation = segmented()
    rows = list(csv.DictReader(io.StringIO(files.lesion_table(segmentation))))
    assert [int(row["label"]) for row in rows] == [1, 2, 3]
    for row, lesion in zip(rows, segmentation.lesions, strict=True):
        assert float(row["volume_mm3"]) == pytest.approx(lesion.volume_mm3)
        assert [float(row[f"{axis}_mm"]) for axis in "xyz"] == pytest.approx(lesion.centroid_mm, rel=1e-4)
        assert row["look_at"] == str(int(bool(lesion.look_at)))
    document = json.loads(files.summary(segmentation))
    assert document["burden"]["count"]["value"] == 3
    assert len(document["lesions"]) == 3
    for row in csv.DictReader(io.StringIO(files.lesion_table(segmented(1)))):
        assert row["structural_uncertainty"] == ""
