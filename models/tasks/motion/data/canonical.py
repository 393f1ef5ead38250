"""Partition of scenes into in-domain and shifted by their tags: the canonical one, or custom rules."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data.tags import VALUES, Tags, plain

FILE = "partition.json"
"""File in a re-partitioned official folder with its rules, which replace the canonical ones."""


@dataclass(frozen=True)
class Rule:
    """Rule for scenes whose tags have one of the allowed values in each field; without fields, all scenes."""

    allowed: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def accepts(self, tags: Tags) -> bool:
        return all(tags.get(name) in values for name, values in self.allowed.items())


@dataclass(frozen=True)
class Partition:
    """Rules for in-domain scenes of all splits and shifted scenes of some."""

    inside: Rule
    outside: Mapping[str, Rule]
    """Rule of shifted scenes by split."""

    def shifted(self, split: str, tags: Tags) -> bool | None:
        """Return whether a scene is shifted; None if it is in neither part.

        Args:
            split: ``train``, ``dev`` or ``eval``; empty if unknown, then the rules of all splits apply.
        """
        if self.inside.accepts(tags):
            return False
        rules = [rule for name, rule in self.outside.items() if split in ("", name)]
        return True if any(rule.accepts(tags) for rule in rules) else None


def rule(words: Sequence[str]) -> Rule:
    """Parse words such as ``track=Moscow,AnnArbor``; a scene must match all of them.

    Raises:
        ValueError: the form is wrong, a field occurs twice, or a value is not in the released enumeration.
    """
    allowed: dict[str, frozenset[str]] = {}
    for word in words:
        name, _, values = word.partition("=")
        if not (name and values):
            raise ValueError(f"{word!r} is not of the form TAG=VALUE,VALUE; released tags are {', '.join(VALUES)}")
        if name in allowed:
            raise ValueError(f"{name} is given twice; join its values with commas")
        allowed[name] = frozenset(plain(name, value) for value in values.split(","))
    return Rule(allowed)


CANONICAL = Partition(
    inside=rule(["track=Moscow", "precipitation=NoPrecipitation"]),
    outside={
        "dev": rule(["track=Skolkovo,Modiin,Innopolis", "precipitation=NoPrecipitation,Rain,Snow"]),
        "eval": rule(["track=AnnArbor,TelAviv", "precipitation=NoPrecipitation,Rain,Snow"]),
    },
)
"""Partition of Shifts 1.0, Figure 16, as in the released filters, which do not count sleet as shifted."""


def written(partition: Partition) -> str:
    """Return the content of ``partition.json``."""
    document = {"in": _words(partition.inside), "shifted": {s: _words(r) for s, r in partition.outside.items()}}
    return json.dumps(document, indent=1) + "\n"


def read(folder: Path) -> Partition:
    """Return the rules of an official folder: its own, or the canonical ones.

    Raises:
        BadFile: the file of rules cannot be read.
    """
    path = folder / FILE
    if not path.exists():
        return CANONICAL
    try:
        document: Any = json.loads(path.read_text())
        return Partition(rule(document["in"]), {split: rule(words) for split, words in document["shifted"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadFile(f"{path}: no rules of a partition: {error!r}") from error


def _words(tag_rule: Rule) -> list[str]:
    return [f"{name}={','.join(sorted(values))}" for name, values in tag_rule.allowed.items()]
