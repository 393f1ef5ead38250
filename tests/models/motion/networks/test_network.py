"""Networks: released names and shapes, what the encoders see, dropout."""

from dataclasses import replace

import pytest
import torch

from models.tasks.motion.networks.encoders import MOTION, own_motion
from models.tasks.motion.networks.network import Mask, Network
from models.tasks.motion.networks.settings import RELEASED_BC, RELEASED_DIM, SMALL_BC, SMALL_DIM, Sizes
from tests.models.motion.toys import maps, untrained

TORCHVISION = {
    "features.0.0.weight": (32, 17, 3, 3),
    "features.0.1.running_mean": (32,),
    "features.1.conv.0.0.weight": (32, 1, 3, 3),
    "features.1.conv.1.weight": (16, 32, 1, 1),
    "features.1.conv.2.weight": (16,),
    "features.2.conv.0.0.weight": (96, 16, 1, 1),
    "features.2.conv.1.0.weight": (96, 1, 3, 3),
    "features.2.conv.2.weight": (24, 96, 1, 1),
    "features.2.conv.3.num_batches_tracked": (),
    "features.17.conv.2.weight": (320, 960, 1, 1),
    "features.18.0.weight": (1280, 320, 1, 1),
    "features.18.1.bias": (1280,),
    "classifier.1.weight": (512, 1280),
    "classifier.1.bias": (512,),
}
"""Some of the entries of its MobileNetV2, with 17 channels and 512 outputs."""


def small(sizes: Sizes) -> Sizes:
    return replace(sizes, channels=(4, 4, 4, 4), hidden=8, grid=64)


@pytest.mark.parametrize("sizes", [RELEASED_BC, RELEASED_DIM])
def test_weights_have_the_released_names_and_shapes(sizes: Sizes) -> None:
    state = {name: tuple(values.shape) for name, values in Network(sizes).state_dict().items()}
    encoder = {name.removeprefix("_encoder._model."): shape for name, shape in state.items() if "_encoder" in name}
    assert encoder.items() >= TORCHVISION.items()
    assert len(encoder) == 314  # 52 convolutions with norms of five entries, and a linear layer
    decoder = {name: shape for name, shape in state.items() if "_encoder" not in name}
    prefix = "" if sizes.decoder == "bc" else "_flow."
    head = (
        {"_output.weight": (4, 512), "_output.bias": (4,)}
        if sizes.decoder == "bc"
        else {
            "_flow._locscale._model.0.weight": (32, 512),
            "_flow._locscale._model.0.bias": (32,),
            "_flow._locscale._model.2.weight": (4, 32),
            "_flow._locscale._model.2.bias": (4,),
        }
    )
    assert decoder == head | {
        f"{prefix}_decoder.weight_ih": (1536, 2),
        f"{prefix}_decoder.weight_hh": (1536, 512),
        f"{prefix}_decoder.bias_ih": (1536,),
        f"{prefix}_decoder.bias_hh": (1536,),
    }


@torch.no_grad()
def test_the_released_encoder_sees_maps_whose_rows_are_x() -> None:
    network = untrained(replace(RELEASED_BC, grid=64))
    inputs = maps(1)
    assert torch.allclose(network.see(inputs).pooled, network._encoder._model.pooled(inputs.transpose(2, 3)))
    assert not torch.allclose(network.see(inputs).pooled, network._encoder._model.pooled(inputs), atol=1e-2)


@pytest.mark.parametrize("sizes", [SMALL_BC, SMALL_DIM])
def test_ten_small_members_fit_the_reference_artefacts(sizes: Sizes) -> None:
    numbers = sum(parameter.numel() for parameter in Network(sizes).parameters())
    assert 150_000 <= numbers <= 180_000
    assert 10 * numbers * 4 <= 7.5e6


@torch.no_grad()
def test_the_agents_own_motion_is_read_from_the_middle_and_starts_the_plan() -> None:
    inputs = torch.zeros(1, 17, 64, 64)
    inputs[0, MOTION, 31:33, 31:33] = torch.tensor([10.0, -2.0, 0.5, 0.25])[:, None, None]
    assert own_motion(inputs).tolist() == [[10.0, -2.0, 0.5, 0.25]]
    seen = Network(small(SMALL_BC)).eval().see(inputs)
    assert seen.drift is not None
    assert torch.allclose(seen.drift, torch.tensor([[2.0, -0.4]]))
    assert Network(replace(RELEASED_BC, grid=64)).eval().see(inputs).drift is None


@torch.no_grad()
def test_where_something_is_reaches_the_small_encoders_features() -> None:
    network = untrained(small(SMALL_BC))
    ahead, behind = maps(1), maps(1)
    ahead[0, 0, 30:34, 48:52] = behind[0, 0, 30:34, 8:12] = 50
    assert not torch.allclose(network.see(ahead).pooled, network.see(behind).pooled, atol=1e-2)


@torch.no_grad()
def test_the_small_encoder_does_not_look_at_global_yaw() -> None:
    network = untrained(small(SMALL_BC))
    turned = maps(2)
    turned[:, 5] += 1
    assert torch.equal(network.see(turned).pooled, network.see(maps(2)).pooled)


@pytest.mark.parametrize("sizes", [SMALL_BC, SMALL_DIM])
def test_masks_drop_features_and_units(sizes: Sizes) -> None:
    network = untrained(replace(small(sizes), dropout=0.5))
    seen = network.see(maps(3))
    y = torch.randn(3, 25, 2)
    plain = network.decoder.log_prob(network.start(seen), y)
    ones = Mask(torch.ones(network.width), torch.ones(8))
    assert torch.allclose(network.decoder.log_prob(network.start(seen, ones), y), plain)
    nothing = network.start(seen, Mask(torch.zeros(network.width), torch.ones(8)))
    assert torch.allclose(nothing.state[0], nothing.state[1])
    no_units = network.decoder.log_prob(network.start(seen, Mask(torch.ones(network.width), torch.zeros(8))), y)
    assert not torch.allclose(no_units, plain)


def test_dropout_is_drawn_in_training_only() -> None:
    network = Network(replace(small(SMALL_DIM), dropout=0.5))
    inputs, y = maps(4), torch.randn(4, 25, 2)
    torch.manual_seed(0)
    network.train()
    assert not torch.equal(network.likelihood(inputs, y), network.likelihood(inputs, y))
    network.eval()
    assert torch.equal(network.likelihood(inputs, y), network.likelihood(inputs, y))


@pytest.mark.parametrize("sizes", [SMALL_BC, SMALL_DIM])
@pytest.mark.parametrize("own_samples", [False, True])
def test_a_few_steps_of_training_raise_the_likelihood(sizes: Sizes, own_samples: bool) -> None:
    torch.manual_seed(0)
    network = Network(small(sizes)).train()
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    inputs, y = maps(8), torch.randn(8, 25, 2).cumsum(dim=1)
    losses = []
    for _ in range(20):
        noise = torch.randn(y.shape) if own_samples else None
        loss = -network.likelihood(inputs, y, noise).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 1
    assert all(parameter.grad is not None for parameter in network.parameters())
