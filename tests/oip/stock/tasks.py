"""Tasks that are not rows: texts, scenes and scans."""

import json
from typing import Any

import numpy as np
from asking import FOLDER, STATED, client, given, own, parameters, refused, wanted


def case_texts(kind: Any) -> None:
    texts = ["He opened the door. She was not there!", "", "I have two dogs. 😀"]
    expected = own("translation", {"texts": texts})
    names = ("translation", "sentences", "source", "best", "score", "span", "hypotheses", *STATED)
    asked_about = given(kind, text=[one.encode() for one in texts])
    with client(kind, "translation") as asked:
        told = asked.infer("translation", asked_about, outputs=wanted(kind, *names))
        default = asked.infer("translation", given(kind, text=[texts[0].encode()]))
        refused(asked.infer, "translation", given(kind, text=[b"\xff\xfe"]), says=("text[0]", "UTF-8"))
        refused(asked.infer, "translation", given(kind, text=[]), says=("at least one text",))
    said = [one.decode() for one in told.as_numpy("translation")]
    assert said == [one["translation"] for one in expected["texts"]]
    assert told.as_numpy("sentences").tolist() == [2, 0, 1]
    sentences = expected["sentences"]
    assert [one.decode() for one in told.as_numpy("source")] == [one["source"] for one in sentences]
    assert [one.decode() for one in told.as_numpy("best")] == [one["hypotheses"][0]["text"] for one in sentences]
    assert told.as_numpy("deferred").tolist() == [one["deferred"] for one in sentences]
    np.testing.assert_allclose(told.as_numpy("uncertainty"), [one["uncertainty"] for one in sentences], rtol=1e-4)
    assert told.as_numpy("hypotheses").shape == (3, 5)
    start, stop = told.as_numpy("span")[0]
    assert said[0][start:stop] == told.as_numpy("best")[0].decode()
    assert default.as_numpy("hypotheses") is None
    assert all(isinstance(json.loads(one), list) for one in default.as_numpy("remarks"))


def case_scenes(kind: Any) -> None:
    scene, maps = (FOLDER / "scene.pb").read_bytes(), np.load(FOLDER / "maps.npy")
    whose = {"track_ids": np.array([7, 8, 9], np.int64), "poses": np.full((3, 3), np.nan)}
    names = ("trajectories", "track_id", "scene_trajectories", *STATED)
    with client(kind, "motion") as asked:
        told = asked.infer("motion", given(kind, scene=[scene]))
        one = asked.infer("motion", given(kind, scene=[scene], track_ids=np.array([8], np.uint64)))
        drawn = asked.infer("motion", given(kind, maps=maps, **whose), outputs=wanted(kind, *names))
        refused(asked.infer, "motion", given(kind, scene=[scene], maps=maps), says=("scene and maps",))
        refused(asked.infer, "motion", given(kind, maps=maps[:, :, :10]), says=("maps", "[-1, 17,"))
        refused(asked.infer, "motion", given(kind, maps=maps, scene_ids=[b"a"]), says=("scene_ids", "must be 3"))
    assert told.as_numpy("item").tolist() == [0, 1, 2]
    assert told.as_numpy("trajectories").shape == told.as_numpy("scene_trajectories").shape == (3, 5, 25, 2)
    np.testing.assert_allclose(told.as_numpy("confidences").sum(axis=1), 1, atol=1e-5)
    assert told.as_numpy("knowledge").shape == (3, 25)
    assert one.as_numpy("track_id").tolist() == [8]
    assert drawn.as_numpy("track_id").tolist() == [7, 8, 9]
    np.testing.assert_allclose(drawn.as_numpy("trajectories"), told.as_numpy("trajectories"), atol=1e-2)
    assert np.isnan(drawn.as_numpy("scene_trajectories")).all()
    assert parameters(kind, told)["scene_id"]


def case_scans(kind: Any) -> None:
    flair = (FOLDER / "flair.nii.gz").read_bytes()
    names = ("mask", "probability_map", "affine", "lesion_count", "volume", "lesion_volumes", *STATED)
    wishes = {"name": "first", "purpose": "explore"}
    with client(kind, "lesion") as asked:
        told = asked.infer("lesion", given(kind, flair=[flair]), outputs=wanted(kind, *names), parameters=wishes)
        refused(asked.infer, "lesion", given(kind, brain_mask=[flair]), says=("flair", "missing"))
        refused(asked.infer, "lesion", given(kind, flair=[b"no image"]), says=("NIfTI",))
    mask, probability = told.as_numpy("mask"), told.as_numpy("probability_map")
    assert mask.shape == probability.shape == tuple(np.load(FOLDER / "shape.npy"))
    assert set(np.unique(mask)) <= {0, 1}
    assert 0 <= probability.min() <= probability.max() <= 1
    assert told.as_numpy("affine").shape == (4, 4)
    assert len(told.as_numpy("lesion_volumes")) == told.as_numpy("lesion_count")[0]
    np.testing.assert_allclose(told.as_numpy("lesion_volumes").sum(), told.as_numpy("volume")[0], rtol=1e-3)
    assert (parameters(kind, told)["name"], parameters(kind, told)["purpose"]) == ("first", "explore")
