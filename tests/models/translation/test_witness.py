"""Whole sentences in torch against the search over graphs: the same logarithms, uncertainties and scores."""

from pathlib import Path

import numpy as np
import pytest

from models.executors.graph import Graph
from models.executors.onnx import OnnxGraph
from models.tasks.translation.artefact.export.blocks import Blocks, quantised
from models.tasks.translation.inference.decoding.beams import Hypothesis, Rules
from models.tasks.translation.inference.decoding.decoder import search
from models.tasks.translation.networks.settings import Precision, Sizes
from models.tasks.translation.networks.transformer import Transformer
from models.uncertainty.sequences import SCORES, hypothesis_scores
from models.uncertainty.tokens import TokenUncertainty, token_uncertainty
from tests.models.translation import made

RULES = Rules(longest=20, longest_factor=1.5, marks=range(4, 16), forbidden=(0, 1, 3))


def sizes(norm_first: bool = True, shared: bool = True) -> Sizes:
    return Sizes(120, 120 if shared else 90, 32, 4, 48, 2, 2, norm_first=norm_first, shared=shared)


def witnessed(
    networks: list[Transformer], source: list[int], hypothesis: Hypothesis
) -> tuple[np.ndarray, TokenUncertainty, dict[str, np.ndarray]]:
    """Log-probabilities under PE [L], values [L] and scores of a hypothesis from whole-sentence passes."""
    tokens = hypothesis.tokens.tolist()
    logs = np.stack([made.heard(network, source, tokens) for network in networks])  # [M, L, V]
    chosen = logs[:, np.arange(len(tokens)), tokens]
    cumulative = chosen.cumsum(axis=1)
    values = token_uncertainty(logs, cumulative - chosen)
    scores = hypothesis_scores(TokenUncertainty(*(array[None] for array in values.arrays())), cumulative[:, None])
    return np.log(np.exp(chosen).mean(axis=0)), values, scores


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize(("norm_first", "shared"), [(True, True), (True, False), (False, True), (False, False)])
def test_hypotheses_are_what_whole_sentences_say(norm_first: bool, shared: bool, members: int, tmp_path: Path) -> None:
    size = sizes(norm_first, shared)
    networks = made.networks(size, members)
    sentences = made.sources(6, size.target, longest=12)
    results = dict(search(made.decoder(networks, size, RULES, tmp_path), sentences, width=4))
    assert sorted(results) == list(range(6))
    near = made.near(results)
    for sentence in sentences:
        assert len(results[sentence.name]) == RULES.beam
        for hypothesis in results[sentence.name]:
            logs, values, scores = witnessed(networks, list(sentence.tokens), hypothesis)
            np.testing.assert_allclose(hypothesis.log_probabilities, logs, rtol=0, atol=near)
            np.testing.assert_allclose(hypothesis.values, np.stack(values.arrays()), rtol=0, atol=near)
            assert list(hypothesis.scores) == list(SCORES)
            for name in SCORES:
                assert hypothesis.scores[name] == pytest.approx(scores[name][0], rel=near, abs=near), name
            assert hypothesis.score == pytest.approx(logs.mean(), abs=near)


def test_members_that_agree_have_no_knowledge_uncertainty(tmp_path: Path) -> None:
    networks = made.networks(sizes(), 1) * 3
    results = dict(search(made.decoder(networks, sizes(), RULES, tmp_path), made.sources(3, 120)))
    for hypotheses in results.values():
        for hypothesis in hypotheses:
            assert np.abs(hypothesis.values[[2, 3, 4, 6, 7, 8]]).max() < 1e-5


def test_sure_members_are_sure(tmp_path: Path) -> None:
    """Logits of hundreds: probabilities of nothing, and values that stay finite."""
    networks = made.networks(sizes(), 2)
    for network in networks:
        network.decoder.layer_norm.weight.data *= 60
    results = dict(search(made.decoder(networks, sizes(), RULES, tmp_path), made.sources(4, 120)))
    for number, hypotheses in results.items():
        for hypothesis in hypotheses:
            assert np.isfinite(hypothesis.values).all()
            logs, values, _ = witnessed(networks, list(made.sources(4, 120)[number].tokens), hypothesis)
            np.testing.assert_allclose(hypothesis.log_probabilities, logs, rtol=1e-4, atol=1e-3)
            np.testing.assert_allclose(hypothesis.values, np.stack(values.arrays()), rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize(
    ("precision", "norm_first", "logs", "values"),
    [("fp16", True, 0.02, 0.01), ("fp16", False, 0.02, 0.01), ("int8", True, 0.3, 0.1), ("int8", False, 0.3, 0.1)],
)
def test_smaller_numbers_say_nearly_the_same(
    precision: Precision, norm_first: bool, logs: float, values: float, tmp_path: Path
) -> None:
    """Of the same tokens: the largest difference in a token's logarithm under PE, and in values on the average."""
    size = sizes(norm_first)
    networks = made.networks(size, 2)
    sentences = made.sources(6, 120)
    results = dict(search(made.decoder(networks, size, RULES, tmp_path, precision=precision), sentences))
    far, apart = [], []
    for sentence in sentences:
        for hypothesis in results[sentence.name]:
            own, uncertainty, _ = witnessed(networks, list(sentence.tokens), hypothesis)
            far.append(np.abs(hypothesis.log_probabilities - own).max())
            apart.append(np.abs(hypothesis.values - np.stack(uncertainty.arrays())).mean())
    assert 1e-6 < max(far) < logs
    assert np.mean(apart) < values


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_the_same_networks_are_the_same_bytes(precision: Precision, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        made.decoder(made.networks(sizes(), 2), sizes(), RULES, tmp_path / folder, precision=precision)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


@pytest.mark.parametrize("company", [1e-3, 1e3])
def test_products_of_bytes_do_not_depend_on_company(company: float, tmp_path: Path) -> None:
    """To the last bit, however large or small the other rows are."""
    random = np.random.default_rng(0)
    graph = Graph("product")
    blocks = Blocks(graph, {}, sizes(), "int8")
    graph.output(
        "y", blocks.product(graph.input("x", ("R", 32)), random.normal(size=(32, 9)).astype(np.float32)), ("R", 9)
    )
    (tmp_path / "product.onnx").write_bytes(graph.serialise())
    loaded = OnnxGraph(tmp_path / "product.onnx")
    rows = random.normal(size=(40, 32)).astype(np.float32)
    rows[7] = 0
    others = random.normal(size=(50, 32)).astype(np.float32) * company
    (together,) = loaded.run({"x": np.concatenate([others, rows])}, ("y",))
    for number, row in enumerate(rows):
        (alone,) = loaded.run({"x": row[None]}, ("y",))
        assert np.array_equal(alone[0], together[50 + number])
    assert not together[57].any()


def test_levels_are_as_near_as_a_step() -> None:
    weight = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    weight[:, 3] = 0
    levels, scales = quantised(weight, axis=0)
    assert levels.dtype == np.int8
    assert np.abs(levels).max() == 64, "seven bits"
    assert np.abs(levels * scales - weight).max() <= np.abs(weight).max() / 64 / 2 * 1.001
    assert not levels[:, 3].any()
