"""Decoding of translation ensembles on one thread: a step, its precision, whole searches, the released size.

    python -m benchmarks.translation_decoding [--seconds 20] [--only step precision search released]
    [--members FOLDER] [--sentences 500] [--provider cuda --bandwidth 3350]

*step*: the graph of one step of three members (likeliest tokens, their probabilities under each member, nine
uncertainties) against three bare decoders of the same weights and caches, which only give the logarithms of the next
token's distribution; the small size, random weights, 1, 4 and 16 sentences of five hypotheses.
*precision*: float32 over eight bits, of that step.
*search*: whole translations against a run of CTranslate2 for each member with the same weights, beam, batch and one
thread; these runs do not combine the members. First the benchmark checks that CTranslate2 translates alike, with one
member and without marks. ``--members`` names the folder of a training with finished members; without it, weights are
random but for a model of length: the end of sentence depends on its position and comes after about 22 tokens.
Sentences are real if DEMUR_TEST_DATA has tatoeba1000 and wmt22 and members are given, else random tokens. Only this
part needs ``pip install ctranslate2``.
*released*: random weights of the released size, eight bits and float32: time of a sentence, memory. ``--provider cuda``
measures float16 and float32 on a GPU.

Times are processor time of the thread, in ``search`` of the process, since CTranslate2 has a thread of its own; on a
GPU wall-clock time.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks import harness
from benchmarks.harness import Figure
from benchmarks.translation_decoding import ensembles, full_size, other, steps, whole

PARTS = ("step", "precision", "search", "released")


def main(arguments: list[str] | None = None) -> int:
    parser = harness.parser("translation_decoding", __doc__, seconds=20, parts=PARTS)
    parser.add_argument("--members", type=Path, help="folder of a training, for search")
    parser.add_argument("--preset", default="small", help="of that training")
    parser.add_argument("--sentences", type=int, default=500, help="of search")
    parser.add_argument("--provider", choices=("cpu", "cuda"), default="cpu", help="of released")
    parser.add_argument("--bandwidth", type=float, help="of the memory with the weights, GB/s, for released")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    harness.announce()
    with tempfile.TemporaryDirectory() as folder:
        for part in options.only:
            harness.report(_figures(part, Path(folder), options), load=False)
    sys.stdout.write(f"load {os.getloadavg()[0]:.1f}\n")
    return 0


def _figures(part: str, folder: Path, options: argparse.Namespace) -> Iterator[Figure]:
    if part == "step":
        yield from steps.steps(folder, options.seconds)
    elif part == "precision":
        yield from steps.precisions(folder, options.seconds)
    elif part == "released":
        yield from full_size.measure(folder, options.provider, options.bandwidth)
    elif not other.installed():
        sys.stdout.write("\nsearch is NOT MEASURED: `pip install ctranslate2`, which this comparison alone needs\n")
    else:
        members = (
            ensembles.trained(options.members, options.preset)
            if options.members
            else ensembles.drawn(ensembles.SMALL, ending=True)
        )
        yield from whole.measure(folder, options.seconds, members, options.sentences)


if __name__ == "__main__":
    sys.exit(main())
