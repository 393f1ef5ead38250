"""Three tenants that are unlike each other: rows with two heads, texts of many sentences, a slow volume."""

from tests.contract.toys import rows, texts, volume

TOYS = (rows.TOY, texts.TOY, volume.TOY)
