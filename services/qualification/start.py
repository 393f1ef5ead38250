"""Qualification of a process's numeric profile at start."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from models import replay
from models.artefact import Artefact, ArtefactError
from models.executors.failures import DeviceFailed
from models.qualification import record as records
from models.qualification.record import Record
from models.replay import Replayer
from services.qualification.measure import Measurement
from services.qualification.records import Records
from services.qualification.standing import Standing
from services.qualification.tables import Origin, Tables, own, reference
from services.qualification.verdict import Machine, agrees, verdict
from services.runtime.logging import get_logger

Mode = Literal["auto", "require", "off"]
_log = get_logger(__name__)


class NotQualified(RuntimeError):
    """Error at start: the mode requires a qualified numeric profile, and this one is not."""


@dataclass(frozen=True)
class Effects:
    """Side effects of a qualification: record files and the device."""

    records: Records
    replayer: Callable[[], Replayer]
    """Function that opens the artefact's members on the device of the profile."""


class Qualification:
    """Qualification: finds the calibrations that hold under the numeric profile of this process.

    ``settle`` decides what needs no measurement. If the verdict is pending after it, ``measure`` replays the artefact's
    stored inputs until its time is spent, and again until the verdict. Both block: run them outside the event loop.
    """

    def __init__(self, artefact: Artefact, machine: Machine, effects: Effects, *, mode: Mode) -> None:
        self._artefact = artefact
        self._machine = machine
        self._effects = effects
        self._mode = mode
        self._measurement: Measurement | None = None
        self.standing = Standing(self._without("qualifying", f"the numeric profile {self._name} is being qualified"))

    @property
    def pending(self) -> bool:
        """True until there is a verdict."""
        return self.standing.tables.origin == "qualifying"

    def settle(self) -> Tables:
        """Decide by the artefact's own calibrations, by a record, or by the mode.

        Raises:
            DeviceFailed: the mode is ``require``, and the device failed while the record was checked.
            NotQualified: the mode is ``require``, and there is no usable record.
        """
        if (tables := own(self._artefact, self._machine.profile)) is not None:
            return self._decided(tables)
        if self._mode == "off":
            why = f"no calibration under the numeric profile {self._name}, and DEMUR_QUALIFY=off"
            return self._decided(self._without("unqualified", why))
        record = self._effects.records.find(self._artefact, self._machine.profile, self._machine.libraries)
        if record is not None:
            try:
                if self._still_true(record):
                    return self._decided(self._by(record))
            except ArtefactError as error:
                return self._unusable(error)
        if self._mode == "require":
            raise NotQualified(
                f"{self._artefact.tag} is not qualified for the numeric profile {self._name} on this machine, and "
                f"DEMUR_QUALIFY=require: run `demur models qualify {self._artefact.tag}` with this machine's settings"
            )
        if self._artefact.manifest.replay is None:
            why = (
                f"no calibration under the numeric profile {self._name}, and the artefact has no replay set to measure "
                f"it with: {replay.remedy(self._artefact)}, or set a threshold"
            )
            return self._decided(self._without("unqualified", why))
        return self.standing.tables

    def measure(
        self,
        seconds: float = float("inf"),
        *,
        stopped: Callable[[], bool] = lambda: False,
        progress: Callable[[float], None] = lambda share: None,
    ) -> Tables:
        """Replay the stored inputs; the first piece can only refuse the profile, all pieces together decide.

        Args:
            seconds: time after which no further piece begins.
            stopped: called between pieces; once it returns true, nothing is decided.
            progress: called with the share done, 0 to 1.

        Raises:
            ArtefactError: the replay set is damaged.
            ProviderUnavailable: the device is missing.
        """
        if not self.pending:
            return self.standing.tables

        def report(share: float) -> None:
            self.standing = replace(self.standing, done=share)
            progress(share)

        try:
            if self._measurement is None:
                _log.info("numeric profile %s: measuring it with the replay set", self._name)
                self._measurement = Measurement(self._effects.replayer())
                self._measurement.run(pieces=1, stopped=stopped, progress=report)
                early = self._verdict(self._measurement)
                if early.verdict == "refused" and not self._measurement.complete and not stopped():
                    self._keep(early)
                    return self._decided(self._by(early))
            if self._measurement.run(seconds - self._measurement.seconds, stopped=stopped, progress=report):
                record = self._verdict(self._measurement)
                self._keep(record)
                return self._decided(self._by(record))
        except ArtefactError as error:
            return self._unusable(error)
        return self.standing.tables

    def record(self, progress: Callable[[float], None] = lambda share: None) -> Record:
        """Replay all stored inputs and return the record, even under the artefact's own profile.

        Raises:
            ArtefactError: the artefact was never calibrated, or has no replay set, or a damaged one.
            ProviderUnavailable: the device is missing.
        """
        if not any(reference(self._artefact).values()):
            raise ArtefactError(f"{self._artefact.tag} was never calibrated: it has no thresholds to carry over")
        measurement = Measurement(self._effects.replayer())
        measurement.run(progress=progress)
        return self._verdict(measurement)

    @property
    def _name(self) -> str:
        return self._machine.profile.name

    def _verdict(self, measurement: Measurement) -> Record:
        return verdict(self._artefact, self._machine, measurement, replay.reference(self._artefact))

    def _by(self, record: Record) -> Tables:
        """Return the calibrations that a record carries over."""
        origin: Origin = record.verdict
        carried = {
            head: None if known is None or origin == "refused" else records.carried(record, head, known).calibration
            for head, known in reference(self._artefact).items()
        }
        return Tables(self._machine.profile, origin, carried, "; ".join(record.lines[1:]), record)

    def _without(self, origin: Origin, reason: str) -> Tables:
        return Tables(self._machine.profile, origin, dict.fromkeys(self._artefact.manifest.heads), reason)

    def _unusable(self, error: ArtefactError) -> Tables:
        return self._decided(self._without("unqualified", f"the replay set cannot be used: {error}"))

    def _decided(self, tables: Tables) -> Tables:
        self._measurement = None  # releases the second copy of the model on the device
        self.standing = Standing(tables, self._measured(tables))
        if tables.origin != "artefact":
            write = _log.info if tables.origin in ("carried", "mapped") else _log.warning
            write("numeric profile %s: %s", self._name, tables.reason, extra={"fields": {"verdict": tables.origin}})
        return tables

    def _measured(self, tables: Tables) -> float:
        """Return the share of the replay set that a verdict is based on; 1 if nothing has to be measured."""
        stored = self._artefact.manifest.replay
        if tables.record is None:
            return 1.0 if tables.origin == "artefact" else 0.0
        return 1.0 if stored is None or tables.record.inputs != stored.inputs else tables.record.units / stored.units

    def _keep(self, record: Record) -> None:
        try:
            path = self._effects.records.put(record)
            _log.info("the qualification is recorded in %s", path)
        except OSError as error:
            _log.warning("the qualification cannot be recorded (%s), so the next start repeats it", error)

    def _still_true(self, record: Record) -> bool:
        """Return True if the first stored inputs still give the recorded scores, or the record is of other inputs.

        A record of other inputs (``demur models qualify --data``) contains no inputs, so nothing can be replayed: it
        holds for the profile, driver and libraries that it names.

        Raises:
            ArtefactError: the replay set is damaged.
            DeviceFailed: the mode is ``require``, and the device failed; in other modes the profile is qualified again.
        """
        stored = self._artefact.manifest.replay
        if stored is None or record.inputs != stored.inputs:
            _log.info("%s: the record rests on other inputs than the replay set; they are not replayed", self._name)
            return True
        try:
            measurement = Measurement(self._effects.replayer(), batch_sizes=record.batches[-1:])
            measurement.run(pieces=1)
        except DeviceFailed as error:
            if self._mode == "require":
                raise
            _log.error("%s while the record of %s was checked; qualifying again", error, self._name)
            return False
        if agrees(measurement.scores(), record):
            return True
        _log.warning("%s: the first inputs no longer give the recorded scores; qualifying again", self._name)
        return False
