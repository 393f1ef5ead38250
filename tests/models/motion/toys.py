"""Networks with random weights that see something."""

import torch
from torch import Tensor, nn

from models.tasks.motion.networks.network import Network
from models.tasks.motion.networks.settings import Sizes

torch.set_num_threads(1)  # several on shared cores wait for each other


def maps(count: int, size: int = 64, seed: int = 1) -> Tensor:
    """Random numbers in the shape of feature maps, [count, 17, size, size]."""
    return torch.randn(count, 17, size, size, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def untrained(sizes: Sizes, seed: int = 0) -> Network:
    """A network whose norms have the statistics of ``maps``; with those of a new one features vanish on their way."""
    torch.manual_seed(seed)
    network = Network(sizes).train()
    norms = [layer for layer in network.modules() if isinstance(layer, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.uniform_(norm.bias, -0.5, 0.5)
    network.see(maps(8, sizes.grid, seed=2))
    return network.eval()
