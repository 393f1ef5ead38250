"""Replay sets of lesions: crops are small scans, in whole intensities, that are segmented as scans are."""

from pathlib import Path

import numpy as np
import pytest

from models import npz, replay
from models.artefact import Artefact
from models.executors.device import CPU
from models.tasks.lesion.artefact import recipe, replay_set
from models.tasks.lesion.inference import members, segment
from models.tasks.lesion.spec import LESIONS
from tests.models.lesion import bright


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    return bright.artefact(tmp_path_factory.mktemp("bright"), cases=6)


def arrays(made: Artefact) -> dict[str, np.ndarray]:
    assert made.manifest.replay is not None
    return npz.decode(made.path(made.manifest.replay.inputs).read_bytes(), 1 << 24)


def test_the_maker_takes_two_crops_of_each_scan(made: Artefact) -> None:
    assert made.manifest.replay is not None
    assert made.manifest.replay.units == 12
    images = arrays(made)
    assert {name: values.shape for name, values in images.items()} == {"flair": (12, *bright.WINDOW)}
    assert images["flair"].max() == replay_set.LEVELS
    assert "12 units" in made.path("MODEL_CARD.md").read_text()


def test_scores_are_those_of_segmenting_each_crop(made: Artefact) -> None:
    plan, networks = recipe.read(made), members.members(made)
    scans = replay_set.scans(arrays(made), plan.channels)
    scores = replay.replayer(made)(3, 4, 64)[LESIONS.name]
    for at, scan in enumerate(scans[3:7]):
        predictive = segment.segment(scan, networks, plan).predictive()
        assert predictive.structural is not None
        assert scores["scan_structural_uncertainty"][at] == predictive.structural[0]
        assert scores["entropy"][at] == predictive.entropy[0]
    recorded = replay.reference(made)[LESIONS.name]
    assert np.array_equal(recorded["entropy"][3:7], scores["entropy"])
    assert len(np.unique(recorded["entropy"])) > 6, "scores differ"


def test_a_window_is_a_pass_whatever_is_asked(made: Artefact) -> None:
    assert replay.batches(replay.replayer(made)) == (1,)


def test_both_images_are_kept_where_networks_take_both(tmp_path: Path) -> None:
    built = bright.artefact(tmp_path, members=2, channels=("flair",), cases=2)
    with pytest.raises(npz.BadArrays, match="'t1' is missing"):
        replay_set.scans(arrays(built), ("flair", "t1"))


def test_a_crop_without_tissue_is_refused(made: Artefact) -> None:
    with pytest.raises(npz.BadArrays, match="crop 1: "):
        replay_set.replayer(
            made, {"flair": np.stack([arrays(made)["flair"][0], np.zeros(bright.WINDOW, np.uint8)])}, CPU
        )
