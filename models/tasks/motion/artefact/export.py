"""Export of an ensemble to one ONNX graph: feature maps and random numbers in, plans and scores out.

The file contains no details of the machine, because an artefact's version is the hash of its content. Needs torch.
"""

from collections.abc import Sequence

from models.executors.graph import Graph, Value
from models.tasks.motion.artefact import export_encoders
from models.tasks.motion.artefact.export_plans import Counts, Start, planned
from models.tasks.motion.inference.grid import CHANNELS
from models.tasks.motion.inference.members import MAPS, NOISE, PLANS, SCORES, STEPS
from models.tasks.motion.networks.masks import FrozenMasks
from models.tasks.motion.networks.network import Network
from models.tasks.motion.networks.settings import SAMPLES

LAYOUT = "split"
"""Layout of the executor: each member has its own weight matrices."""


def export(networks: Sequence[Network], masks: Sequence[FrozenMasks] = (), *, samples: int = SAMPLES) -> bytes:
    """Return the graph; the same weights give the same bytes.

    Inputs: ``maps`` float32 [N, 17, y, x] in the released layout and ``noise`` [K, Q, T, 2], standard normal. Outputs:
    ``plans`` [N, K Q, T, 2], m in the agents' frames, members in order, and ``scores`` [N, K, K Q], log-densities in
    nats of every plan under every member given its own past (teacher forcing; Shifts 1.0, E.4, formula 20).

    Args:
        networks: members of the same sizes.
        masks: Q masks of each member of a dropout ensemble; plan q of any member is sampled and scored under mask q.
        samples: plans per member, Q.

    Raises:
        ValueError: there is no member, members differ in size, or the masks do not match members and samples.
    """
    if not networks or any(network.sizes != networks[0].sizes for network in networks):
        raise ValueError(f"{len(networks)} members: at least one is needed, and all of the same sizes")
    if masks and (len(masks) != len(networks) or any(len(frozen.pooled) != samples for frozen in masks)):
        raise ValueError(f"{len(masks)} sets of masks: one a member with {samples} masks is needed")
    counts = Counts(len(networks), samples, STEPS)
    graph = Graph("planners")
    grid = networks[0].sizes.grid
    maps = graph.input(MAPS, ("N", CHANNELS, grid, grid))
    noise = graph.input(NOISE, (counts.members, samples, STEPS, 2))
    features, drift = export_encoders.pooled(graph, maps, networks)
    starts = [
        _start(graph, network, seen, masks[number] if masks else None)
        for number, (network, seen) in enumerate(zip(networks, features, strict=True))
    ]
    requests = graph.op("Shape", maps, start=0, end=1)
    plans, scores = planned(graph, starts, drift, noise, requests, counts)
    graph.output(PLANS, plans, ("N", counts.plans, STEPS, 2))
    graph.output(SCORES, scores, ("N", counts.members, counts.plans))
    return graph.serialise()


def _start(graph: Graph, network: Network, seen: Value, masks: FrozenMasks | None) -> Start:
    """Return a member's initial states, separately for each mask."""
    width, hidden = network.width, network.sizes.hidden
    if masks is not None:
        seen = graph.op("Reshape", graph.op("Unsqueeze", seen, [0]) * masks.pooled[:, None], [-1, width])
    state = export_encoders.embedded(graph, seen, network)
    apart = graph.op("Reshape", state, [1 if masks is None else len(masks.pooled), -1, hidden])
    return Start(network, apart, None if masks is None else masks.hidden)
