"""Static description of the task: its head, and the schema of its inputs."""

from models.head import Head, classes
from models.schema import Feature, Schema

SIDE, INK = 8, 16
DIGIT = classes("digit", "digit that a person reads, 0 to 9", class_names=tuple("0123456789"))
HEADS: tuple[Head, ...] = (DIGIT,)
PLACES = [(row, column) for row in range(SIDE) for column in range(SIDE)]
SCHEMA = Schema.of(Feature(f"pixel_{y}_{x}", "1", 0, INK, f"Ink in row {y}, column {x}.") for y, x in PLACES)
