"""Reference artefacts: the policy of a service with default settings, and progress and report of building them."""

import sys
import time
from collections.abc import Callable

from models.artefact import Artefact
from models.head import Head
from models.manifest import numeric_profile
from services.policy.decision import Policy, choose
from studies.jobs import say

RETENTION = 0.95
"""Share of in-domain units that the threshold keeps: the services' default."""


def default_policy(artefact: Artefact, head: Head, *, defer_on_shift: bool = False) -> Policy:
    """Return the policy of a head of an artefact in a service with default settings."""
    manifest = artefact.manifest
    profile = numeric_profile(manifest.executors)
    return choose(
        head,
        manifest.heads[head.name].get(profile),
        model=artefact.directory.name,
        profile=profile,
        ensemble=manifest.ensemble,
        target_retention=RETENTION,
        defer_on_shift=defer_on_shift,
    )


def progress(name: str, every: float = 5.0) -> Callable[[float, str], None]:
    """Return a function that writes the finished share to standard error, at most once in ``every`` seconds."""
    last = [-every]

    def tell(done: float, state: str) -> None:
        if time.monotonic() - last[0] > every:
            last[0] = time.monotonic()
            say(f"{name}: {done:.0%} {state}")

    return tell


def report(artefact: Artefact) -> None:
    """Print tag, size and quality figures of a built artefact."""
    size = sum(path.stat().st_size for path in artefact.directory.iterdir())
    sys.stdout.write(f"{artefact.tag} {size / 1e6:.2f} MB {artefact.manifest.quality}\n")
    sys.stdout.flush()
