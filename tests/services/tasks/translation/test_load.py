"""Many callers at once: sentences share passes, failures stay with their owners, who leaves is forgotten."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from models.artefact import Artefact
from models.tasks.translation.inference.decoding.decoder import Batch, Decoder
from tests.models.translation.made import corpus
from tests.services.tasks.translation.conftest import serving

SENTENCES = [pair.english for pair in corpus(40, seed=7).pairs]


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sentences of each pass."""
    sizes: list[int] = []
    together = Decoder.together

    def counted(self: Decoder, batches: Sequence[Batch]) -> list[Batch]:
        sizes.append(sum(map(len, batches)))
        return together(self, batches)

    monkeypatch.setattr(Decoder, "together", counted)
    return sizes


async def test_requests_that_come_together_share_passes(three: Artefact, passes: list[int]) -> None:
    async with serving(three, lanes=1) as served:
        alone = [(await served.answer(text))["texts"] for text in SENTENCES[:8]]
        passes.clear()
        crowd = await asyncio.gather(*[served.answer(text) for text in SENTENCES[:8]])
    assert [answer["texts"] for answer in crowd] == alone
    assert max(passes) > 4
    assert max(passes) <= 16


async def test_a_long_text_keeps_its_order_and_passes_stay_full(three: Artefact, passes: list[int]) -> None:
    async with serving(three, lanes=2) as served:
        passes.clear()
        answer = await served.answer("\n".join(SENTENCES), tokens="none")
    assert [sentence["source"] for sentence in answer["sentences"]] == SENTENCES
    assert [sentence["item"] for sentence in answer["sentences"]] == list(range(len(SENTENCES)))
    assert max(passes) == 16
    full = [size for size in passes if size >= 12]
    assert len(full) > len(passes) / 4


async def test_a_sentence_that_breaks_the_model_fails_alone(three: Artefact, monkeypatch: pytest.MonkeyPatch) -> None:
    together, bad = Decoder.together, SENTENCES[3]

    def breaking(self: Decoder, batches: Sequence[Batch]) -> list[Batch]:
        names: list[Any] = [name for batch in batches for name in batch.beams.names]
        if any(name.sentence.text == bad for name in names):
            raise RuntimeError("the model's own words")
        return together(self, batches)

    async with serving(three) as served:
        usual = await served.answer(*SENTENCES[:6])
        monkeypatch.setattr(Decoder, "together", breaking)
        answer = await served.answer(*SENTENCES[:6])
        refused = await served.post({"text": bad})
    (failure,) = answer["failures"]
    assert (failure["item"], failure["text"], failure["error"]["code"]) == (3, 3, "execution_failed")
    assert "own words" not in str(answer)
    assert answer["texts"][3]["translation"] == bad, "it stands as it came"
    assert [sentence["item"] for sentence in answer["sentences"]] == [0, 1, 2, 4, 5]
    assert [text["translation"] for place, text in enumerate(answer["texts"]) if place != 3] == [
        text["translation"] for place, text in enumerate(usual["texts"]) if place != 3
    ]
    assert refused.status_code == 500


async def test_who_hangs_up_leaves_the_schedule(three: Artefact) -> None:
    async with serving(three, lanes=1) as served:
        scheduler = served.assembled.scheduler
        asking = asyncio.create_task(served.answer("\n".join(SENTENCES * 20)))
        for _ in range(200):
            await asyncio.sleep(0.01)
            if scheduler.active:
                break
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        for _ in range(500):
            if not scheduler.active and not scheduler.queued_bytes:
                break
            await asyncio.sleep(0.01)
        assert (scheduler.active, scheduler.queued_bytes) == (0, 0)
        assert (await served.answer(SENTENCES[0]))["sentences"]
