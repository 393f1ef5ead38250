"""Builder of the reference artefacts of the motion task from the members of ``studies.motion_tables``.

    python -m studies.motion_reference [--work DIR] [--out DIR] [--families bc dim] [--threads 2]

The artefacts are calibrated on in-domain development scenes that chose no weights; the other requests are evaluated for
the model card.
"""

from models import provenance
from models.executors.device import Device
from models.tasks.motion.data import gathering
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.training import train
from studies import pages
from studies.motion_tables.members import ensemble
from studies.motion_tables.plan import Plan
from studies.served import progress, report


def main() -> None:
    parser = pages.parser("motion_reference", __doc__, out=pages.ARTEFACTS / "motion", work="motion-tables")
    parser.add_argument("--families", nargs="+", default=["bc", "dim"])
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    plan = Plan()
    data = options.work / "data"
    stored = gathering.gathered(data, options.work / "examples", OFFICIAL)
    for family in options.families:
        trained = ensemble(plan, family, stored, options.work / "members")
        name = f"{family}-{len(trained)}"
        artefact = train.built(
            trained,
            stored,
            options.out / name,
            provenance=provenance.read(data),
            device=Device(threads=options.threads),
            progress=progress(name),
        )
        report(artefact)


if __name__ == "__main__":
    main()
