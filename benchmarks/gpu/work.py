"""Folder of kept outcomes, so that finished parts do not run again."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.gpu.facts import missing
from benchmarks.gpu.parts import MOST_SECONDS, Outcome, Part, PartFailed, Setting
from benchmarks.gpu.record import tags

RATES = "rates.json"
"""Kept outcome of the part from which floors are computed."""
MOST_REASON = 500
"""Number of characters of a failure's text that are kept."""


class Work:
    """Outcomes by part, each in a file; every provider and size has a folder of its own."""

    def __init__(self, folder: Path, provider: str, quick: bool, versions: dict[str, str]) -> None:
        self.folder = folder / f"{provider}{'-quick' * quick}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._versions = versions

    def kept(self, part: Part) -> Outcome | None:
        """Return the outcome of an earlier run with the same versions and artefacts; None if there is none.

        Only a part that is ``done`` need not run again. An outcome without a time is from an earlier version of this
        program, and not used.
        """
        path = self._path(part)
        if not path.exists():
            return None
        kept = json.loads(path.read_text())
        if kept.pop("versions") != self._versions:
            return None
        outcome = Outcome(**kept)
        if outcome.state == "missing" or (outcome.time and outcome.artefacts == tags(part.artefacts)):
            return outcome
        return None

    def keep(self, part: Part, outcome: Outcome) -> None:
        """Write an outcome atomically."""
        path = self._path(part)
        staged = path.with_suffix(".part")
        staged.write_text(json.dumps(asdict(outcome) | {"versions": self._versions}, indent=1))
        staged.replace(path)

    def run(self, part: Part, provider: str, quick: bool, unavailable: str) -> Outcome:
        """Run a part in a process of its own, at most ``MOST_SECONDS``, and keep its outcome."""
        outcome = self._outcome(part, provider, quick, unavailable)
        self.keep(part, outcome)
        return outcome

    def _outcome(self, part: Part, provider: str, quick: bool, unavailable: str) -> Outcome:
        if absent := missing(part.needs):
            return Outcome("missing", reason=absent)
        if provider == "cuda" and part.not_on_cuda:
            return Outcome("missing", reason=part.not_on_cuda)
        if part.provider and unavailable:
            return Outcome("missing", reason=unavailable)
        ran = Outcome("failed", time=datetime.now(UTC).isoformat(timespec="seconds"), artefacts=tags(part.artefacts))
        answer = self.folder / f"{part.name}.answer"
        answer.unlink(missing_ok=True)
        command = [sys.executable, "-m", "benchmarks.gpu", "--one", part.name, "--provider", provider]
        command += ["--work", str(self.folder), *(["--quick"] if quick else [])]
        start = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return replace(ran, seconds=float(MOST_SECONDS), reason=f"not done after {MOST_SECONDS} s")
        ran = replace(ran, seconds=round(time.perf_counter() - start, 1))
        answered = Outcome(**json.loads(answer.read_text())) if answer.exists() else None
        answer.unlink(missing_ok=True)
        if answered is None or (done.returncode and answered.state == "done"):  # a crash, possibly at the end
            last = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
            (self.folder / f"{part.name}.log").write_text(done.stdout + done.stderr)
            return replace(ran, reason=last[:MOST_REASON])
        return replace(ran, state=answered.state, reason=answered.reason, found=answered.found)

    def _path(self, part: Part) -> Path:
        return self.folder / f"{part.name}.json"


def answer(folder: Path, part: Part, setting: Setting) -> Outcome:
    """Run a part in this process, and write its outcome for the parent process."""
    try:
        outcome = Outcome("done", found=part.run(setting))
    except PartFailed as error:
        outcome = Outcome("failed", reason=str(error)[:MOST_REASON], found=error.found)
    (folder / f"{part.name}.answer").write_text(json.dumps(asdict(outcome)))
    return outcome


def scratch(folder: Path, part: Part) -> Path:
    """Create and return a folder for a part's files."""
    place = folder / f"{part.name}.{os.getpid()}"
    place.mkdir()
    return place
