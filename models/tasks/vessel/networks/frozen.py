"""Frozen dropout masks and weight samples, which make a sampled ensemble deterministic.

A sample depends only on (sample seed, member's seed, sample number), so a member that is taken from an ensemble of ten
keeps its samples.
"""

import numpy as np

from models.tasks.vessel.artefact.ensemble import Array, TrainedEnsemble, Weights

DROPOUT = 0.005
"""Probability of dropping a hidden unit (released vessel baseline)."""


def softplus(x: Array) -> Array:
    """Return log(1 + exp(x)) without overflow."""
    return np.asarray(np.logaddexp(0, x), x.dtype)


def masks(ensemble: TrainedEnsemble) -> tuple[Array, Array]:
    """Return scaled masks of the two hidden layers, float32 [M, S, H1] and [M, S, H2]: 0 or 1 / (1 - p)."""
    first, second = ensemble.weights["w2"].shape[1], ensemble.weights["w3"].shape[1]
    drawn = np.empty((ensemble.members, ensemble.samples, first + second), np.float32)
    for member, seed in enumerate(ensemble.seeds):
        for sample in range(ensemble.samples):
            generator = np.random.default_rng([ensemble.sample_seed, seed, sample])
            drawn[member, sample] = generator.random(first + second) >= DROPOUT
    drawn /= np.float32(1 - DROPOUT)
    return drawn[..., :first], drawn[..., first:]


def weight_samples(ensemble: TrainedEnsemble) -> Weights:
    """Draw weights from each member's Gaussian posterior: ``w1, b1, w2, b2, w3, b3``, float32 [M, S, ...].

    Kernels are N(mu, softplus(rho)^2); biases are point estimates, as in the Flipout layers of the paper.
    """
    kernels = [name for name in ("w1", "w2", "w3") if f"{name}_rho" in ensemble.weights]
    sampled: dict[str, list[Array]] = {name: [] for name in kernels}
    for member, seed in enumerate(ensemble.seeds):
        for sample in range(ensemble.samples):
            generator = np.random.default_rng([ensemble.sample_seed, seed, sample])
            for name in kernels:
                mean, rho = ensemble.weights[name][member], ensemble.weights[f"{name}_rho"][member]
                noise = generator.standard_normal(mean.shape).astype(np.float32)
                sampled[name].append(mean + softplus(rho) * noise)
    lead = (ensemble.members, ensemble.samples)
    weights = {name: np.stack(parts).reshape(*lead, *parts[0].shape) for name, parts in sampled.items()}
    for name in ("b1", "b2", "b3"):
        bias = ensemble.weights[name]
        weights[name] = np.repeat(bias[:, None], ensemble.samples, axis=1)
    return weights
