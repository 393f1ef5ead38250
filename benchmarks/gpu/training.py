"""Comparison of each task's network in PyTorch on the device with training on the CPU and with its exported graph.

Results may differ by rounding, which ``tolerance`` bounds; a part whose networks differ by more has failed.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks import weather_transformer
from benchmarks.gpu.parts import PartFailed, Setting
from models.executors.graph_members import GraphMembers
from models.executors.onnx import OnnxGraph
from models.tasks.lesion.artefact import export as lesion_export
from models.tasks.lesion.networks import architectures as lesion
from models.tasks.lesion.networks import settings as lesion_settings
from models.tasks.motion.inference.members import STEPS
from models.tasks.motion.networks import settings as motion_settings
from models.tasks.motion.networks.network import Network as MotionNetwork
from models.tasks.translation.networks import settings as translation_settings
from models.tasks.translation.networks.transformer import Transformer
from models.tasks.translation.text.tokens import SPECIAL
from models.tasks.vessel.artefact.ensemble import Scaling, TrainedEnsemble
from models.tasks.vessel.artefact.export import export as vessel_export
from models.tasks.vessel.data.table import NAMES
from models.tasks.vessel.networks import families as vessel
from models.tasks.weather.transformer import network as weather
from models.tasks.weather.transformer.export import export as weather_export
from models.tasks.weather.transformer.settings import PAPER, SMALL

STEPS_TRAINED = 3
SEED = 0


@dataclass(frozen=True)
class Case:
    """Network with inputs, and a loss of both that needs no labels."""

    network: nn.Module
    inputs: tuple[Tensor, ...]
    loss: Callable[[nn.Module, tuple[Tensor, ...]], Tensor]


@dataclass(frozen=True)
class Compared:
    """Outputs of a network in PyTorch on the device, and of its exported graph on the CPU."""

    network: NDArray[Any]
    graph: NDArray[Any]
    weights: int


def steps(setting: Setting) -> dict[str, Any]:
    """Return, by task, the relative difference of losses of the same steps, and the CPU's time over the device's.

    Raises:
        PartFailed: losses of a task differ by more than rounding explains.
    """
    _exact(setting)
    place = _place(setting)
    results: dict[str, dict[str, Any]] = {}
    for task, make in CASES.items():
        case = make(setting.quick)
        values = weights(case.network)
        cpu, cpu_seconds = _trained(case, torch.device("cpu"))
        del case
        own, own_seconds = _trained(make(setting.quick), place)
        results[task] = {
            "losses": own,
            "largest_relative_difference": relative_difference(cpu, own),
            "tolerance": tolerance(values, tf32=setting.device.tf32),
            "step_seconds": own_seconds,
            "cpu_over_device": cpu_seconds / own_seconds,
        }
    return within(results, "largest_relative_difference")


def exports(setting: Setting) -> dict[str, Any]:
    """Return, by task, the difference between a network on the device and its exported graph on the CPU.

    Differences are in units of the largest magnitude of the graph's output.

    Raises:
        PartFailed: outputs of a task differ by more than rounding explains.
    """
    _exact(setting)
    place = _place(setting)
    results: dict[str, dict[str, Any]] = {}
    for task, compare in EXPORTS.items():
        compared = compare(place, setting)
        scale = float(np.abs(compared.graph).max()) or 1.0
        results[task] = {
            "largest_difference": float(np.abs(compared.network - compared.graph).max()) / scale,
            "tolerance": tolerance(compared.weights, tf32=setting.device.tf32),
            "values": int(compared.graph.size),
        }
    return within(results, "largest_difference")


def tolerance(weights: int, *, tf32: bool = False) -> float:
    """Return the allowed difference of two computations of one network, relative to the size of its result.

    Each product of a weight is rounded once, to one part in 2^23, or 2^10 in TF32. Such errors are independent, so
    that their sum grows with the square root of the number of weights.
    """
    return math.sqrt(weights) * 2.0 ** -(10 if tf32 else 23)


def weights(network: nn.Module) -> int:
    """Return the number of learned parameters of a network."""
    return sum(parameter.numel() for parameter in network.parameters())


def relative_difference(expected: Sequence[float], computed: Sequence[float]) -> float:
    """Return the largest difference relative to the expected values; NaN if a value is NaN."""
    pairs = np.array([expected, computed], np.float64)
    return float((np.abs(pairs[1] - pairs[0]) / np.maximum(np.abs(pairs[0]), 1e-6)).max())


def within(results: dict[str, dict[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    """Return results by task whose differences are within their tolerances.

    Args:
        name: name of the difference in a task's result.

    Raises:
        PartFailed: a difference is larger, or NaN.
    """
    wrong = [
        f"{task}: {name.replace('_', ' ')} {result[name]:.3g}, allowed {result['tolerance']:.3g}"
        for task, result in results.items()
        if not result[name] <= result["tolerance"]
    ]
    if wrong:
        raise PartFailed("; ".join(wrong), results)
    return results


def _exact(setting: Setting) -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = setting.device.tf32
    torch.use_deterministic_algorithms(False)


def _place(setting: Setting) -> torch.device:
    """Return the torch device of a setting.

    Raises:
        RuntimeError: PyTorch does not see the device.
    """
    if setting.device.provider == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no CUDA device: install a build of torch with CUDA")
    return torch.device(f"cuda:{setting.device.index}")


def _trained(case: Case, place: torch.device) -> tuple[list[float], float]:
    """Return the losses of some steps, and the time of one step, s; the first step is not timed."""
    network, inputs = case.network.to(place).train(), tuple(tensor.to(place) for tensor in case.inputs)
    optimiser = torch.optim.SGD(network.parameters(), lr=1e-4)
    losses, took = [], 0.0
    for number in range(STEPS_TRAINED):
        start = time.perf_counter()
        loss = case.loss(network, inputs)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
        took += (time.perf_counter() - start) * (number > 0)
    return losses, took / (STEPS_TRAINED - 1)


def _vessel(quick: bool) -> Case:
    network = vessel.build("dnn", tuple(range(10)), _vessel_scaling(), NAMES)
    rows = _noise((10, 64 if quick else 1024, len(NAMES)))

    def loss(module: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        mean, std = module(*inputs)
        value: Tensor = (mean.square() / std.square() + std.log()).mean()
        return value

    return Case(network, (rows,), loss)


def _weather(quick: bool) -> Case:
    torch.manual_seed(SEED)
    scaling = weather_transformer.untrained(SMALL, 1).scaling
    torch.manual_seed(SEED)
    network = weather.Network(SMALL if quick else PAPER, scaling, classes=9)
    rows = torch.from_numpy(weather_transformer.rows(16 if quick else 128))

    def loss(module: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        outputs = module(*inputs)
        mean, std = weather.gaussian(outputs["temperature"])
        value: Tensor = (mean.square() / std.square() + std.log()).mean() + outputs["precipitation"].logsumexp(1).mean()
        return value

    _without_dropout(network)
    return Case(network, (rows,), loss)


def _motion(quick: bool) -> Case:
    torch.manual_seed(SEED)
    network = MotionNetwork(motion_settings.SMALL_BC if quick else motion_settings.RELEASED_BC)
    _without_dropout(network)
    grid = network.sizes.grid
    maps, plans = _noise((4, 17, grid, grid)), _noise((4, STEPS, 2)).cumsum(1)

    def loss(module: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        value: Tensor = -module.likelihood(*inputs).mean()
        return value

    return Case(network, (maps, plans), loss)


def _lesion(quick: bool) -> Case:
    torch.manual_seed(SEED)
    sizes = lesion_settings.UNetSizes((4, 8, 16)) if quick else lesion_settings.RELEASED
    edge = 32 if quick else 96
    network = lesion.network(sizes, edge)
    _without_dropout(network)

    def loss(module: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        value: Tensor = module(*inputs).square().mean()
        return value

    return Case(network, (_noise((2, sizes.inputs, edge, edge, edge)),), loss)


def _translation(quick: bool) -> Case:
    torch.manual_seed(SEED)
    sizes = translation_settings.PRESETS["tiny" if quick else "small"].sizes
    network = Transformer(sizes)
    draw = torch.Generator().manual_seed(SEED)
    source, before = (torch.randint(SPECIAL, sizes.target, (8, length), generator=draw) for length in (25, 20))

    def loss(module: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        value: Tensor = module(*inputs).logsumexp(-1).mean()
        return value

    return Case(network, (source, before), loss)


CASES: dict[str, Callable[[bool], Case]] = {
    "vessel": _vessel,
    "weather": _weather,
    "motion": _motion,
    "lesion": _lesion,
    "translation": _translation,
}


def _vessel_export(place: torch.device, setting: Setting) -> Compared:
    scaling = _vessel_scaling()
    network = vessel.build("dnn", tuple(range(10)), scaling, NAMES).eval()
    ensemble = TrainedEnsemble("dnn", scaling, vessel.export(network), tuple(range(10)))
    rows = _noise((256, len(NAMES)))
    with torch.no_grad():
        mean, _ = network.to(place)(rows.to(place)[None].expand(10, -1, -1))
    graph = _graph(setting, "vessel.onnx", vessel_export(ensemble))
    (expected,) = graph.run({"rows": rows.numpy()}, ("member_mean",))
    power = mean.cpu().numpy() * scaling.power_std + scaling.power_mean
    return Compared(power, expected, weights(network))


def _weather_export(place: torch.device, setting: Setting) -> Compared:
    ensemble = weather_transformer.untrained(SMALL, 1)
    network = weather.Network(SMALL, ensemble.scaling, classes=9)
    weather.restore(network, {name: values[0] for name, values in ensemble.weights.items()})
    rows = weather_transformer.rows(64)
    with torch.no_grad():
        classes = network.eval().to(place)(torch.from_numpy(rows).to(place))["precipitation"].softmax(-1)
    graph = _graph(setting, "weather.onnx", weather_export(ensemble))
    expected = GraphMembers(graph, ensemble.heads)(rows)["precipitation"][0]
    return Compared(classes.cpu().numpy(), expected, weights(network))


def _lesion_export(place: torch.device, setting: Setting) -> Compared:
    sizes = lesion_settings.UNetSizes((4, 8, 16)) if setting.quick else lesion_settings.RELEASED
    edge = 32 if setting.quick else 96
    torch.manual_seed(SEED)
    member = lesion.Plain(lesion.folded(lesion.network(sizes, edge))).eval()
    window = _noise((1, sizes.inputs, edge, edge, edge))
    graph = _graph(setting, "lesion.onnx", lesion_export.export(member, sizes.inputs, (edge, edge, edge)))
    (expected,) = graph.run({"window": window.numpy()}, ("difference",))
    with torch.no_grad():
        own = member.to(place)(window.to(place))
    return Compared(own.cpu().numpy().reshape(expected.shape), expected, weights(member))


EXPORTS: dict[str, Callable[[torch.device, Setting], Compared]] = {
    "vessel": _vessel_export,
    "weather": _weather_export,
    "lesion": _lesion_export,
}


def _graph(setting: Setting, name: str, content: bytes) -> OnnxGraph:
    """Open a graph on the CPU, whatever the device."""
    path: Path = setting.folder / name
    path.write_bytes(content)
    return OnnxGraph(path)


def _vessel_scaling() -> Scaling:
    return Scaling(np.zeros(len(NAMES)), np.ones(len(NAMES)), 10_000.0, 5_000.0)


def _noise(shape: tuple[int, ...]) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(SEED))


def _without_dropout(network: nn.Module) -> None:
    """Disable dropout, since another device would draw masks with another generator."""
    for module in network.modules():
        if isinstance(module, nn.Dropout | nn.Dropout3d):
            module.p = 0.0
