"""Tiny weather artefacts of every family, trained in a second on rows of a made-up atmosphere."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact
from models.building import Labelled
from models.schema import Feature, Schema
from models.tasks.weather.artefact import build
from models.tasks.weather.artefact.ensemble import Ensemble, join
from models.tasks.weather.spec import HEADS, TEMPERATURE
from models.tasks.weather.training import boosting

METADATA = ("fact_time", "fact_latitude", "fact_longitude", "fact_temperature", "fact_cwsm_class", "climate")
SENTINEL = -9999.0
SCHEMA = Schema(
    (
        Feature("gfs_temperature", "°C", -90, 60, "Temperature by GFS.", True),
        Feature("wrf_temperature", "°C", -90, 60, "Temperature by WRF.", True),
        Feature("cloudiness", "%", 0, 100, "Share of the sky.", True),
        Feature("rain", "mm", 0, 500, "Rain.", True),
        Feature("soil_temperature", "°C", -90, 70, "Of the soil.", True, (SENTINEL,)),
        Feature("soil_available", "1", 0, 1, "Whether there is a soil temperature.", values=(0.0, 1.0)),
        Feature("snowing", "1", 0, 1, "Whether snow is forecast.", True, values=(0.0, 1.0)),
        Feature("elevation", "m", -500, 9000, "Above the sea."),
    ),
    METADATA,
)
"""NaN is allowed but for two columns, one column has a sentinel, two are flags."""
TREES = boosting.Settings(boosting.Trees(4, 40, 0.2), boosting.Trees(3, 30, 0.35), patience=20, threads=1, borders=32)


def table(count: int, seed: int, warmer: float = 0.0) -> Labelled:
    """Rows whose noise, in degrees, grows with the clouds."""
    draw = np.random.default_rng(seed)
    soil = draw.random(count) < 0.7
    rows = np.empty((count, len(SCHEMA)), np.float32)
    truth = draw.normal(8 + warmer, 9, count)
    rows[:, 0] = truth + draw.normal(0, 1.0, count)
    rows[:, 1] = truth + draw.normal(0, 1.5, count)
    rows[:, 2] = draw.uniform(0, 100, count)
    rows[:, 3] = np.where(rows[:, 2] > 60, draw.exponential(3, count), 0)
    rows[:, 4] = np.where(soil, truth - 2, SENTINEL)
    rows[:, 5] = soil
    rows[:, 6] = (truth < 0) & (rows[:, 3] > 0)
    rows[:, 7] = draw.uniform(0, 1500, count)
    for column in (0, 1, 2, 3):
        rows[draw.random(count) < 0.04, column] = np.nan
    temperature = truth + draw.normal(size=count) * (0.3 + np.nan_to_num(rows[:, 2], nan=50) / 60)
    wet = np.nan_to_num(rows[:, 3]) + draw.normal(0, 0.5, count) > 1
    cloudy = np.nan_to_num(rows[:, 2], nan=50) + draw.normal(0, 8, count) > 70
    kind = np.where(wet, np.where(temperature < 0, 4, 2), np.where(rows[:, 2] > 15, 1, 0))
    classes = np.where(cloudy, np.where(wet, np.where(temperature < 0, 8, 6), 5), kind)
    labels = {"temperature": temperature.astype(np.float32), "precipitation": classes.astype(np.uint8)}
    return Labelled(rows, labels)


def tables() -> dict[str, Labelled]:
    return {"train": table(900, 1), "dev_in": table(800, 2), "dev_out": table(600, 3, warmer=15.0)}


@dataclass(frozen=True)
class Tiny:
    """Ensembles and artefacts, each made when it is asked for."""

    folder: Path

    @cached_property
    def data(self) -> Mapping[str, Labelled]:
        return tables()

    @cached_property
    def rows(self) -> NDArray[np.float32]:
        """Good inputs that nothing was trained on, float32 [400, F]."""
        return np.asarray(table(400, 4).features, np.float32)

    @cached_property
    def boosted(self) -> Ensemble:
        return boosting.train(self.data, HEADS, SCHEMA, self.folder / "boosted", members=3, settings=TREES)

    @cached_property
    def trees(self) -> Artefact:
        """Three models a head."""
        return self.built("trees", self.boosted)

    @cached_property
    def single(self) -> Artefact:
        """One model a head: no knowledge uncertainty."""
        trained = boosting.train(self.data, HEADS, SCHEMA, self.folder / "one", members=1, settings=TREES)
        return self.built("single", trained)

    @cached_property
    def virtual(self) -> Artefact:
        """One model a head, cut into ten."""
        cut = boosting.train(self.data, HEADS, SCHEMA, self.folder / "cut", members=1, settings=TREES, virtual=True)
        return self.built("virtual", cut)

    @cached_property
    def dry(self) -> Artefact:
        """Temperature only."""
        (both,) = self.boosted.executors
        executor = msgspec.structs.replace(both, models={"temperature": both.models["temperature"]})
        files = {name: path for name, path in self.boosted.files.items() if name.startswith("temperature")}
        return build.build(
            replace(self.boosted, executors=(executor,), files=files),
            self.data,
            self.folder / "dry",
            schema=SCHEMA,
            heads=(TEMPERATURE,),
        )

    @cached_property
    def networks(self) -> Ensemble:
        """Two transformers, hardly trained."""
        import torch

        from models.tasks.weather.transformer import fit, settings

        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        known = settings.PRESETS["fast"]
        settings.PRESETS["fast"] = replace(known, epochs=1, sizes=replace(known.sizes, width=8, blocks=1))
        try:
            return fit.ensemble(self.data, SCHEMA, self.folder / "networks", members=2, seed=0, preset="fast")
        finally:
            settings.PRESETS["fast"] = known
            torch.set_num_threads(threads)

    @cached_property
    def combined(self) -> Artefact:
        """Trees and networks: two executors, five members."""
        return self.built("combined", join(self.boosted, self.networks))

    def built(self, name: str, ensemble: Ensemble) -> Artefact:
        return build.build(ensemble, self.data, self.folder / name, schema=SCHEMA)
