"""A folder in the form of the released vessel baseline: two members, the second with another last bias."""

import json
from pathlib import Path

import torch

RELEASED = json.loads((Path(__file__).parents[2] / "fixtures" / "vessel_model.json").read_text())
"""One released model with what it says of some rows."""
STATE = {name: torch.tensor(value) for name, value in RELEASED["state_dict"].items()}


def write(folder: Path) -> Path:
    """The folder, made."""
    for number in (1, 2):
        (folder / f"member_{number}").mkdir(parents=True)
        state = STATE | {"linear3.bias": STATE["linear3.bias"] + (number - 1)}
        torch.save(state, folder / f"member_{number}" / "best_model.pth")
    (folder / "stats").mkdir()
    for name in ("means", "stds"):
        (folder / "stats" / f"{name}.json").write_text(json.dumps(RELEASED[name]))
    return folder
