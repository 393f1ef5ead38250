"""Tasks that are not rows: texts, scenes and scans."""

import json
from typing import Any

import numpy as np
from asking import FOLDER, STATED, client, given, own, parameters, refused, wanted


def case_texts(kind: Any) -> None:
    texts = ["He opened the door. She was not there!", "", "I have two dogs. 😀"]
    expected = own("translation", {"texts": texts})
    names = ("translation", "sentences", "source", "best", "score", "span", "hypotheses", *STATED)
    asked_about = given(kind, text=[text.encode() for text in texts])
    with client(kind, "translation") as connection:
        result = connection.infer("translation", asked_about, outputs=wanted(kind, *names))
        default = connection.infer("translation", given(kind, text=[texts[0].encode()]))
        refused(connection.infer, "translation", given(kind, text=[b"\xff\xfe"]), says=("text[0]", "UTF-8"))
        refused(connection.infer, "translation", given(kind, text=[]), says=("at least one text",))
    translations = [text.decode() for text in result.as_numpy("translation")]
    assert translations == [record["translation"] for record in expected["texts"]]
    assert result.as_numpy("sentences").tolist() == [2, 0, 1]
    sentences = expected["sentences"]
    assert [text.decode() for text in result.as_numpy("source")] == [sentence["source"] for sentence in sentences]
    assert [text.decode() for text in result.as_numpy("best")] == [
        sentence["hypotheses"][0]["text"] for sentence in sentences
    ]
    assert result.as_numpy("deferred").tolist() == [sentence["deferred"] for sentence in sentences]
    np.testing.assert_allclose(
        result.as_numpy("uncertainty"), [sentence["uncertainty"] for sentence in sentences], rtol=1e-4
    )
    assert result.as_numpy("hypotheses").shape == (3, 5)
    start, stop = result.as_numpy("span")[0]
    assert translations[0][start:stop] == result.as_numpy("best")[0].decode()
    assert default.as_numpy("hypotheses") is None
    assert all(isinstance(json.loads(remark), list) for remark in default.as_numpy("remarks"))


def case_scenes(kind: Any) -> None:
    scene, maps = (FOLDER / "scene.pb").read_bytes(), np.load(FOLDER / "maps.npy")
    tracks = {"track_ids": np.array([7, 8, 9], np.int64), "poses": np.full((3, 3), np.nan)}
    names = ("trajectories", "track_id", "scene_trajectories", *STATED)
    with client(kind, "motion") as connection:
        result = connection.infer("motion", given(kind, scene=[scene]))
        single = connection.infer("motion", given(kind, scene=[scene], track_ids=np.array([8], np.uint64)))
        drawn = connection.infer("motion", given(kind, maps=maps, **tracks), outputs=wanted(kind, *names))
        refused(connection.infer, "motion", given(kind, scene=[scene], maps=maps), says=("scene and maps",))
        refused(connection.infer, "motion", given(kind, maps=maps[:, :, :10]), says=("maps", "[-1, 17,"))
        refused(connection.infer, "motion", given(kind, maps=maps, scene_ids=[b"a"]), says=("scene_ids", "must be 3"))
    assert result.as_numpy("item").tolist() == [0, 1, 2]
    assert result.as_numpy("trajectories").shape == result.as_numpy("scene_trajectories").shape == (3, 5, 25, 2)
    np.testing.assert_allclose(result.as_numpy("confidences").sum(axis=1), 1, atol=1e-5)
    assert result.as_numpy("knowledge").shape == (3, 25)
    assert single.as_numpy("track_id").tolist() == [8]
    assert drawn.as_numpy("track_id").tolist() == [7, 8, 9]
    np.testing.assert_allclose(drawn.as_numpy("trajectories"), result.as_numpy("trajectories"), atol=1e-2)
    assert np.isnan(drawn.as_numpy("scene_trajectories")).all()
    assert parameters(kind, result)["scene_id"]


def case_scans(kind: Any) -> None:
    flair = (FOLDER / "flair.nii.gz").read_bytes()
    names = ("mask", "probability_map", "affine", "lesion_count", "volume", "lesion_volumes", *STATED)
    wishes = {"name": "first", "purpose": "explore"}
    with client(kind, "lesion") as connection:
        result = connection.infer("lesion", given(kind, flair=[flair]), outputs=wanted(kind, *names), parameters=wishes)
        refused(connection.infer, "lesion", given(kind, brain_mask=[flair]), says=("flair", "missing"))
        refused(connection.infer, "lesion", given(kind, flair=[b"no image"]), says=("NIfTI",))
    mask, probability = result.as_numpy("mask"), result.as_numpy("probability_map")
    assert mask.shape == probability.shape == tuple(np.load(FOLDER / "shape.npy"))
    assert set(np.unique(mask)) <= {0, 1}
    assert 0 <= probability.min() <= probability.max() <= 1
    assert result.as_numpy("affine").shape == (4, 4)
    assert len(result.as_numpy("lesion_volumes")) == result.as_numpy("lesion_count")[0]
    np.testing.assert_allclose(result.as_numpy("lesion_volumes").sum(), result.as_numpy("volume")[0], rtol=1e-3)
    assert (parameters(kind, result)["name"], parameters(kind, result)["purpose"]) == ("first", "explore")
