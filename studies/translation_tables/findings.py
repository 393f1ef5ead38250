"""Figures of all rows and models, computed from kept parts."""

from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.tasks.translation.artefact import calibration as calibrating
from models.tasks.translation.artefact.ensemble import Ensemble
from services.policy.decision import Policy
from studies.translation_tables import data, judge, kept, page, relations, translate
from studies.translation_tables.data import COMPARED, NTREX, SHARE, Data
from studies.translation_tables.judge import (
    AWAY,
    BY_NAME,
    FULL,
    IN,
    MAIN,
    PUBLIC,
    ROWS,
    SINGLE,
    TOGETHER,
    Decided,
    Results,
    Row,
    Score,
    ScoredLines,
)
from studies.translation_tables.kept import Kept
from studies.translation_tables.page import Measured
from studies.translation_tables.plan import ENSEMBLE, EXACT, OTHERS, Plan, single
from studies.translation_tables.translate import tokenisation

_REDDIT = "wmt22-social"


class Findings:
    """Figures of one complete folder of parts."""

    def __init__(self, plan: Plan, known: Data, ensemble: Ensemble, parts: Path, near: frozenset[str]) -> None:
        self._plan, self._data, self._ensemble, self._near = plan, known, ensemble, near
        self._load = cache(lambda model, name: kept.load(translate.part(parts, model, name)))
        self._judged: dict[tuple[str, str], ScoredLines] = {}

    def ensemble(self, row: str) -> ScoredLines:
        """Return the lines of a row under the served ensemble."""
        return self.judged(ENSEMBLE, BY_NAME[row])

    def judged(self, model: str, row: Row) -> ScoredLines:
        """Return the lines of a row under a model."""
        if (model, row.name) not in self._judged:
            self._judged[model, row.name] = ScoredLines(row.kept(lambda name: self._load(model, name), self._near))
        return self._judged[model, row.name]

    @cached_property
    def policy(self) -> Policy:
        """Policy of a service with default settings."""
        return judge.policy(self._load(ENSEMBLE, data.CALIBRATION))

    @cached_property
    def decisions(self) -> Mapping[str, Decided]:
        """Decisions on the lines of each row."""
        return {row.name: judge.decided(self.ensemble(row.name), self.policy) for row in ROWS}

    @property
    def others(self) -> dict[float, dict[str, Decided]]:
        """Decisions on rows by the share of in-domain sentences that a policy keeps."""
        calibration = self._load(ENSEMBLE, data.CALIBRATION)
        under = {share: judge.policy(calibration, share) for share in OTHERS}
        return {
            share: {row: judge.decided(self.ensemble(row), policy) for row in (*MAIN, *PUBLIC)}
            for share, policy in under.items()
        }

    @cached_property
    def results(self) -> Results:
        """Scores of all rows, of single models and of the ensemble."""
        return {
            (row.name, kind): tuple(self._score(model, row) for model in models)
            for row in ROWS
            for kind, models in self._kinds.items()
        }

    @property
    def model_lines(self) -> list[str]:
        """Lines on the members, for the pages."""
        trained = self._ensemble.training
        sizes = self._ensemble.sizes
        return [
            f"Models: {len(self._ensemble)} Transformers of seeds {', '.join(map(str, self._ensemble.seeds))}, "
            f"{sizes.encoder} + {sizes.decoder} layers of width {sizes.width}, "
            f"{trained['parameters_of_a_member'] / 1e6:.1f} million weights each, {trained['steps']} steps of up to "
            f"{trained['tokens_of_a_step']} tokens, development loss {trained['dev_nll_nats_per_token']} nats a token; "
            f"trained on {trained['pairs']} of {len(self._data.folder.train)} pairs ({', '.join(data.TRAINED)}): those "
            f"of up to {self._ensemble.recipe.longest_sentence} tokens a side whose literals agree. Served in int8, "
            f"beam {self._ensemble.recipe.beam}. The paper's have 6 + 6 layers of width 1024 and 50,000 steps on "
            "WMT'20."
        ]

    def page(self) -> page.PageData:
        """Gather the data of the page."""
        measures = self._measures()
        areas = {name: measured.figures[FULL].r_auc for name, measured in measures.items()}
        return page.PageData(
            data=self._data_lines(),
            models=self.model_lines,
            results=self.results,
            stand_in=self._stand_in(),
            plain={row.name: self.ensemble(row.name).plain_egleu for row in ROWS},
            decisions=self.decisions,
            others=self.others,
            policy=self.policy,
            measures=measures,
            precision={name: self._on_compared(model) for name, model in (("int8", ENSEMBLE), ("float32", EXACT))},
            compared=len(self._load(EXACT, COMPARED)),
            relations=relations.relations(self.results),
            own=relations.own(self.results, areas, self.decisions, self._answered_as_calibrated()),
        )

    def drawn(self) -> dict[tuple[str, str], tuple[ScoredLines, ...]]:
        """Return the main rows under each kind's models, for the picture of retention."""
        return {
            (row, kind): tuple(self.judged(model, BY_NAME[row]) for model in models)
            for row in MAIN
            for kind, models in self._kinds.items()
        }

    def ranks(self) -> dict[str, NDArray[np.floating]]:
        """Return the ensemble's uncertainty of the lines of each row."""
        return {row.name: self.ensemble(row.name).ranks() for row in ROWS}

    @property
    def _kinds(self) -> dict[str, tuple[str, ...]]:
        return {SINGLE: tuple(map(single, self._plan.seeds)), TOGETHER: (ENSEMBLE,)}

    def _score(self, model: str, row: Row) -> Score:
        lines = self.judged(model, row)
        return judge.score(lines, self.judged(model, BY_NAME[IN]), self._shifted(model, row, len(lines)))

    def _shifted(self, model: str, row: Row, count: int) -> NDArray[np.bool_]:
        flags = judge.shifted(row, lambda name: self._load(model, name))
        return flags if not row.apart else np.ones(count, bool)

    def _stand_in(self) -> Results:
        """Compute Tables 4 and 5 with sources of newstest2019 as in-domain and Reddit comments as shifted."""
        results = {}
        for kind, models in self._kinds.items():
            for name, sets in ((IN, (NTREX,)), (AWAY, (_REDDIT,)), (FULL, (NTREX, _REDDIT))):
                row = Row(f"stand-in {name}", name, sets)
                scores = []
                for model in models:
                    news, lines = self.judged(model, BY_NAME[NTREX]), self.judged(model, row)
                    away = np.arange(len(lines)) >= (len(news) if name == FULL else 0)
                    scores.append(judge.score(lines, news, away if name != IN else np.zeros(len(lines), bool)))
                results[name, kind] = tuple(scores)
        return results

    def _answered_as_calibrated(self) -> float:
        held = {name: self.ensemble(f"held-{name}") for name in data.TRAINED}
        return judge.answered_as_calibrated(held, self._load(ENSEMBLE, data.CALIBRATION), self.policy)

    def _measures(self) -> dict[str, Measured]:
        exact, served = (self._load(model, COMPARED) for model in (EXACT, ENSEMBLE))
        agreement = calibrating.agreement(*_same(served, exact))
        held = self.ensemble(IN)
        measures = {}
        for name in judge.MEASURES:
            detection = {
                row: judge.told(
                    self.ensemble(row), held, self._shifted(ENSEMBLE, BY_NAME[row], len(self.ensemble(row))), name
                )
                for row in (FULL, "wmt22", NTREX)
            }
            areas = {row: self.ensemble(row).figures(name) for row in (FULL, IN, AWAY, "wmt22")}
            measures[name] = Measured(areas, detection, agreement[name])
        return measures

    def _on_compared(self, model: str) -> Score:
        lines = ScoredLines(self._load(model, COMPARED))
        return judge.score(lines, lines, np.zeros(len(lines), bool))

    def _data_lines(self) -> list[str]:
        sets = self._data.sets
        count = {name: len(lines) for name, lines in sets.items()}
        known = self._data.folder
        held = ", ".join(f"{name} {count[f'held-{name}']}" for name in data.TRAINED)
        away = ", ".join(f"{name} {count[name]}" for name in data.SHIFTED)
        all_away = ", ".join(f"{name} {len(known.shifted.of_domains({name}))}" for name in data.SHIFTED)
        return [
            f"Held out: {held} lines of the half of the validation pairs that does not calibrate (the other half, "
            f"{count[data.CALIBRATION]} lines, sets the threshold; some of both chose the step whose weights are "
            "kept). Tatoeba, public-domain novels, manuals of open projects, TICO-19; without XQuAD, UD-PUD (CC BY-SA) "
            "and Mozilla (MPL). Novels and manuals: other chapters and files than those trained on; Tatoeba and "
            "TICO-19: other sentences only, so that some are near to one trained on. References of novels are of the "
            "19th century, and some pairs are aligned wrongly.",
            f"Shifted: {away} lines, evenly spaced among {all_away} (at most {self._plan.cap} a domain), of domains "
            "that nothing was trained on: MLQE-PE (Russian Reddit, proverbs and news; the English is post-edited "
            "machine translation, CC0), and the World English and Synodal Bibles of the public domain.",
            f"Public sets, tests only: WMT22 general ({_total(count, data.WMT22)} lines, research use; systems "
            f"submitted there reach 29.8 to 34.9 BLEU), NTREX-128 ({count[NTREX]}, CC BY-SA 4.0), Tatoeba1000 "
            f"({count[data.TATOEBA]}, CC BY 2.0 FR), WMT24 ({_total(count, data.WMT24)}, research use; it asks not to "
            "be trained on, and is not; its canary line is left out). No line of them is among the training pairs. "
            f"{len(self._near)} sentences of Tatoeba1000 share {SHARE:.0%} of their words with one trained on "
            "(“Tom” sentences that differ in a word): one row is without them.",
            "Tatoeba, TICO-19 and MLQE-PE are public benchmarks: what is held out of them here is no set that others "
            "report figures of.",
            f"Tokens of GLEU: {tokenisation().words}; *plain*: what whitespace separates, as labels of a service are "
            "compared.",
        ]


def _total(count: Mapping[str, int], names: tuple[str, ...]) -> int:
    return sum(count[name] for name in names)


def _same(first: Kept, other: Kept) -> tuple[tuple, tuple]:
    """Return the translations of the lines that both have."""
    both = {pair.english for pair in first.pairs} & {pair.english for pair in other.pairs}
    return tuple(
        kept.take(np.array([pair.english in both for pair in kept.pairs], bool)).translations for kept in (first, other)
    )
