"""The table of all decoders that are fuzzed, with the cases of each in CI; a decoder is an entry more."""

from tests.fuzz.target import Target
from tests.fuzz.targets import artefacts, files, labels, ledgers, oip, predictions, requests, served, tokens

TARGETS: dict[str, Target] = {
    **requests.TARGETS,
    **oip.TARGETS,
    **labels.TARGETS,
    **files.TARGETS,
    **artefacts.TARGETS,
    **ledgers.TARGETS,
    **predictions.TARGETS,
    **served.TARGETS,
    **tokens.TARGETS,
}
