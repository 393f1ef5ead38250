"""The declared cost of rows, with and without what each member says."""

import numpy as np

from services.request.row_task import BYTES_PER_ROW_FACTOR, Packed, RowsRequest
from tests.contract.serving import serving
from tests.contract.toys.toy import STEP_SECONDS
from tests.services.tabular import TABULAR


async def test_member_outputs_are_part_of_the_declared_cost() -> None:
    form = Packed(50, np.ones((50, 2), "<f4").tobytes())
    async with serving(TABULAR) as served:
        task = served.tenant.pipeline.task
        plain, members = task.expand(RowsRequest(form)), task.expand(RowsRequest(form, members=True))
    assert (plain.seconds, members.seconds) == (STEP_SECONDS, 2 * STEP_SECONDS)
    row, outputs = 2 * 4, 2 * 2 * 4  # two features; two members, a mean and a variance each
    assert plain.nbytes == 50 * row * BYTES_PER_ROW_FACTOR
    assert members.nbytes == 50 * (row + outputs) * BYTES_PER_ROW_FACTOR
