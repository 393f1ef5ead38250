"""Planners with known answers, as a graph written by hand: vehicles keep their velocity, members differ by a little.

A plan is velocity times time, plus the member's bias, which grows with time and speed, plus noise, which grows with
speed. A member's score of a plan is the likelihood of the noise that would make it, so that all is in closed form.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STEPS = 25
SAMPLES = 10
BIAS = 0.03
"""Of neighbouring members, as a share of the way."""


def graph(members: int, size: int, samples: int = SAMPLES) -> bytes:
    """Inputs ``maps`` [N, 17, size, size] and ``noise`` [K, Q, T, 2]; outputs ``plans`` and ``scores``."""
    middle, plans = size // 2, members * samples
    times = 0.2 * np.arange(1, STEPS + 1, dtype=np.float32)
    bias = (BIAS * (np.arange(members) - (members - 1) / 2)).astype(np.float32)
    constants = {
        "first": np.array([1, middle, middle]),
        "last": np.array([3, middle + 1, middle + 1]),
        "axes": np.array([1, 2, 3]),
        "as_pair": np.array([-1, 1, 1, 2]),
        "as_plans": np.array([1, plans, STEPS, 2]),
        "as_rival": np.array([0, 1, plans, STEPS, 2]),
        "as_centre": np.array([0, members, 1, STEPS, 2]),
        "times": times.reshape(1, 1, STEPS, 1),
        "of_plans": (1 + np.repeat(bias, samples)).reshape(1, plans, 1, 1),
        "of_members": (1 + bias).reshape(1, members, 1, 1),
        "least": np.array(0.2, np.float32),
        "by_speed": np.array(0.05, np.float32),
        "pair": np.array([3]),
        "steps": np.array([3, 4]),
        "half": np.array(-0.5, np.float32),
        "numbers": np.array(2 * STEPS, np.float32),
        "flat": np.array([-1, 1, 1]),
    }
    nodes = [
        ("Slice", ["maps", "first", "last", "axes"], "cell", {}),
        ("Reshape", ["cell", "as_pair"], "velocity", {}),
        ("Mul", ["velocity", "times"], "way", {}),
        ("ReduceL2", ["velocity", "pair"], "speed", {"keepdims": 1}),
        ("Mul", ["speed", "by_speed"], "extra", {}),
        ("Add", ["extra", "least"], "sigma", {}),
        ("Reshape", ["noise", "as_plans"], "draws", {}),
        ("Mul", ["draws", "sigma"], "shaken", {}),
        ("Mul", ["way", "of_plans"], "biased", {}),
        ("Add", ["biased", "shaken"], "plans", {}),
        ("Mul", ["way", "of_members"], "centres", {}),
        ("Reshape", ["plans", "as_rival"], "rivals", {}),
        ("Reshape", ["centres", "as_centre"], "centre", {}),
        ("Sub", ["rivals", "centre"], "apart", {}),
        ("Reshape", ["sigma", "flat"], "scale", {}),
        ("Mul", ["apart", "apart"], "squared", {}),
        ("ReduceSum", ["squared", "steps"], "distance", {"keepdims": 0}),
        ("Mul", ["scale", "scale"], "variance", {}),
        ("Div", ["distance", "variance"], "scaled", {}),
        ("Mul", ["scaled", "half"], "exponent", {}),
        ("Log", ["scale"], "log_scale", {}),
        ("Mul", ["log_scale", "numbers"], "volume", {}),
        ("Sub", ["exponent", "volume"], "scores", {}),
    ]
    made = helper.make_graph(
        [helper.make_node(kind, inputs, [name], **more) for kind, inputs, name, more in nodes],
        "straight",
        [
            helper.make_tensor_value_info("maps", TensorProto.FLOAT, ["N", 17, size, size]),
            helper.make_tensor_value_info("noise", TensorProto.FLOAT, [members, samples, STEPS, 2]),
        ],
        [
            helper.make_tensor_value_info("plans", TensorProto.FLOAT, ["N", plans, STEPS, 2]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", members, plans]),
        ],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model)
    return model.SerializeToString(deterministic=True)
