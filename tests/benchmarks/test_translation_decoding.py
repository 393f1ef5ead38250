"""The benchmark of decoding compares what it says it does, and reports it; how fast is not judged here."""

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.inputs import opened
from benchmarks.translation_decoding import __main__ as program
from benchmarks.translation_decoding import ensembles, full_size, other, steps, whole
from models.executors.onnx import OnnxGraph
from models.tasks.translation.artefact.export.stepping import stepping_graph
from models.tasks.translation.inference.decoding.decoder import search
from models.tasks.translation.networks import settings
from models.tasks.translation.networks.settings import Sizes
from models.tasks.translation.text.tokens import SPECIAL
from tests.models.translation import small_ensemble

TINY = Sizes(200, 220, 64, 2, 32, 1, 1, shared=False)


def test_a_step_and_bare_ones_see_the_same(tmp_path: Path) -> None:
    """Members' logarithms in the whole step are those of the bare decoders, with the caches of each."""
    members = ensembles.drawn(TINY).weights
    whole_step = opened(stepping_graph(members, TINY, SPECIAL, 4, "fp32"), tmp_path)
    inputs = steps.step_inputs(TINY, len(members), 2)
    (actual,) = whole_step.run({name: inputs[name] for name in whole_step.inputs}, (settings.SPECIAL,))
    for number, weights in enumerate(members):
        bare = opened(steps._bare(weights, TINY, "fp32"), tmp_path)
        own = {
            name: inputs[name.replace("0.", f"{number}.") if name[0] in "ksv" and "." in name else name]
            for name in bare.inputs
        }
        (logs,) = bare.run(own, ("logs",))
        np.testing.assert_allclose(actual[number], logs[:, :SPECIAL], atol=1e-5)


def test_steps_and_precisions_are_reported(tmp_path: Path) -> None:
    figures = [*steps.steps(tmp_path, 0.01, TINY), *steps.precisions(tmp_path, 0.01, TINY)]
    assert all(figure.value > 0 for figure in figures)
    over = [figure for figure in figures if "over bare ones" in figure.name]
    assert len(over) == 2 * len(steps.SENTENCES)
    assert {figure.at_most for figure in over} == {1.2}
    assert sum("fp32 over int8" in figure.name for figure in figures) == len(steps.SENTENCES)


def test_random_weights_with_a_model_of_length_end(tmp_path: Path) -> None:
    members = ensembles.drawn(ensembles.SMALL, 1, ending=True)
    decoder = ensembles.decoder(members.weights, members.sizes, members.rules, tmp_path, "fp32")
    _, sentences = whole.sentences(members, 3)
    for _, hypotheses in search(decoder, sentences):
        assert all(12 < len(hypothesis.tokens) < 32 for hypothesis in hypotheses)


def test_searches_are_compared(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="pip install ctranslate2: this comparison alone needs it")
    members = ensembles.drawn(TINY, 2, ending=True)
    figures = list(whole.measure(tmp_path, 0.01, members, 6))
    assert next(figure.value for figure in figures if "both find" in figure.name) >= 90
    assert sum(figure.name == "ours over CTranslate2" for figure in figures) == 2
    assert all(figure.value > 0 for figure in figures)


def test_trained_members_are_compared(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="pip install ctranslate2: this comparison alone needs it")
    ensemble = small_ensemble.ensemble(tmp_path, 1)
    members = ensembles.Members(ensemble.members, ensemble.sizes, ensemble.recipe.rules, ensemble)
    figures = list(whole.measure(tmp_path, 0.01, members, 8))
    assert next(figure.value for figure in figures if "both find" in figure.name) >= 90


def test_a_folder_without_finished_members(tmp_path: Path) -> None:
    (tmp_path / "member-1000.state.pt").write_bytes(b"")
    with pytest.raises(LookupError, match="no finished members"):
        ensembles.trained(tmp_path, "small")


def test_ctranslate2_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert not other.installed()
    assert program.main(["--only", "search"]) == 0
    assert "NOT MEASURED: `pip install ctranslate2`" in capsys.readouterr().out


def test_the_released_size_is_measured_in_small(tmp_path: Path) -> None:
    members = ensembles.drawn(TINY)
    ensembles.write(members.weights, members.sizes, tmp_path, "int8")
    figures = full_size.measured(tmp_path, "cpu", TINY, times=1)
    assert figures["alone"] > 0
    assert figures["together"] > 0
    assert figures["tokens"] == full_size.SAID
    assert figures["stepping"] == (tmp_path / settings.STEPPING).stat().st_size
    assert OnnxGraph(tmp_path / settings.STEPPING).inputs[settings.PREFIX][0] == 3


def test_what_does_not_fit_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_size, "NEEDED_GIB", dict.fromkeys(full_size.NEEDED_GIB, 1 << 20))
    names = [figure.name for figure in full_size.measure(tmp_path, "cpu", None)]
    assert names == ["NOT MEASURED: free memory"] * 2
