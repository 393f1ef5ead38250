"""Released checkpoints as they are imported and served: their own tokens, readable text, spans that fit."""

from pathlib import Path

import numpy as np
import pytest

from models.artefact import ArtefactError
from models.tasks.translation.artefact import importing
from models.tasks.translation.data import pairs_folder
from models.tasks.translation.inference import members
from tests.models.translation.fairseq_files import ENGLISH, folder
from tests.models.translation.made import corpus
from tests.services.tasks.translation.conftest import serving


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("released")
    importing.import_released(folder(path / "baselines", members=3), path / "artefact")
    return path / "artefact"


@pytest.mark.long
async def test_an_imported_ensemble_serves_in_its_own_tokens(imported: Path) -> None:
    from models import artefact

    loaded = artefact.read(imported, "translation")
    assert (loaded.manifest.family, loaded.manifest.members) == ("released", 3)
    async with serving(loaded) as served:
        answer = await served.answer(ENGLISH[0], "Two sentences. It's open & closed.")
    assert [entry["sentences"] for entry in answer["texts"]] == [1, 2]
    for sentence in answer["sentences"]:
        best = sentence["hypotheses"][0]
        text = answer["texts"][sentence["text"]]["translation"]
        assert text[sentence["start"] : sentence["stop"]] == best["text"]
        assert "@@" not in best["text"]
        assert best["tokens"][-1]["stop"] == len(best["text"])
        assert np.isfinite(list(best["scores"].values())).all()
        assert sentence["decision"] == "DEFER", "nothing was calibrated"


def test_its_files_are_its_tokeniser(imported: Path, tmp_path: Path) -> None:
    from models import artefact

    loaded = artefact.read(imported)
    assert {"code", "dict.en.txt", "dict.ru.txt", "recipe.json"} <= set(loaded.manifest.files)
    files = {name: loaded.path(name) for name in loaded.manifest.files}
    broken = artefact.write(tmp_path / "broken", loaded.manifest, files | {"dict.ru.txt": b"no dictionary"})
    with pytest.raises(ArtefactError, match=r"dict\.ru\.txt"):
        members.translator(broken)


@pytest.mark.slow
def test_pairs_calibrate_it_and_few_bits_have_to_rank_alike(tmp_path: Path) -> None:
    data = tmp_path / "pairs"
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(
        "domain\tsource\ten\tru\n"
        + "".join(f"{pair.domain}\t{pair.source}\t{pair.english}\t{pair.russian}\n" for pair in corpus(40).pairs)
    )
    pairs_folder.select([pairs], [pairs], data, domains=["everyday"], shifted=["docs"])
    released = importing.import_released(
        folder(tmp_path / "baselines", members=2), tmp_path / "artefact", data, precision="fp32"
    )
    (calibration,) = released.manifest.heads["hypotheses"].values()
    assert calibration.retention.units > 5
    assert set(released.manifest.quality) == {"calibration", "held out: everyday", "shifted: docs"}
