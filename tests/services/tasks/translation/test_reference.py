"""The shipped artefact: small enough, licensed, ready to serve, and right where it is sure."""

from pathlib import Path

import pytest

from models import artefact
from models.artefact import Artefact
from models.executors import sessions
from models.executors.device import Device
from models.executors.failures import NodesRefused, ProviderUnavailable
from models.replay import replayer
from models.tasks.translation.inference import members
from tests.models.executors.device_sessions import install
from tests.services.tasks.translation.conftest import serving

FOLDER = Path(__file__).resolve().parents[4] / "artefacts" / "translation" / "transformer-3"


@pytest.fixture(scope="module")
def shipped() -> Artefact:
    return artefact.read(FOLDER, "translation")


def test_it_is_small_and_says_what_it_has_learnt_from(shipped: Artefact) -> None:
    assert sum(path.stat().st_size for path in FOLDER.parent.rglob("*")) < 20e6
    assert shipped.manifest.members == 3
    assert shipped.manifest.training["parameters_of_a_member"] < 5e6
    card = (FOLDER / "MODEL_CARD.md").read_text()
    for word in ("Tatoeba", "CC BY", "TICO-19", "not a general translator", "bleu", "chrf", "shifted: religious"):
        assert word in card, word


def test_eight_bits_rank_as_float32_does(shipped: Artefact) -> None:
    assert shipped.manifest.executor.precision == "int8"
    assert float(shipped.manifest.training["int8_rank_correlation_scr_pe"]) >= 0.98


def test_cuda_without_products_of_eight_bits_says_both_ways_out(
    shipped: Artefact, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = install(monkeypatch)
    left = sessions.Node("CPUExecutionProvider", "MatMulIntegerToFloat", "layer1")
    monkeypatch.setattr(sessions, "placement", lambda session: [left])
    refused = RuntimeError(sessions._FALLBACK_REFUSED)
    machine.refuses = lambda: refused if len(machine.opened) % 2 else None  # the session that says where nodes are
    cuda = Device(provider="cuda")
    for start in (lambda: members.translator(shipped, device=cuda), lambda: replayer(shipped, cuda)):
        with pytest.raises(ProviderUnavailable) as error:
            start()
        for word in (shipped.tag, "int8", "fp16 or fp32", "DEMUR_TRANSLATION_PROVIDER=cpu", "--precision fp16"):
            assert word in str(error.value), word
    with pytest.raises(NodesRefused, match="MatMulIntegerToFloat"):  # of floats, this is no want of eight bits
        members.opened([shipped.path(shipped.manifest.executor.files[0])], "fp32", cuda, "float")


def test_figures_by_domain_are_worse_where_it_is_shifted(shipped: Artefact) -> None:
    quality = shipped.manifest.quality
    known = [figures["bleu"] for name, figures in quality.items() if name in ("held out: everyday", "held out: docs")]
    strange = [figures["bleu"] for name, figures in quality.items() if name.startswith("shifted")]
    assert min(known) > max(strange)


@pytest.mark.parametrize(
    ("english", "russian"),
    [
        ("I have two dogs.", "собак"),
        ("He opened the door and looked at her.", "дверь"),
        ("The function returns an array.", "Функция возвращает массив"),
        ("See https://example.com/a?b=1 for 42 details.", "https://example.com/a?b=1"),
    ],
)
async def test_it_translates_what_it_knows(shipped: Artefact, english: str, russian: str) -> None:
    async with serving(shipped) as served:
        answer = await served.answer(english)
    assert russian in answer["texts"][0]["translation"]
    assert answer["sentences"][0]["decision"] == "ANSWER"


async def test_it_defers_what_is_no_text(shipped: Artefact) -> None:
    strange = "Qwx zzkj vbnm plorf grendix, thrumbled squonk vexingly 'twixt ye gallimaufry o' wyrms."
    async with serving(shipped) as served:
        known, *odd = (await served.answer("I have two dogs.", strange))["sentences"]
    assert max(sentence["uncertainty"] for sentence in odd) > 2 * known["uncertainty"]
    assert any(sentence["deferred"] for sentence in odd)
