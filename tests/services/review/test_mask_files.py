"""Masks as the page packs them: gzip readers unpack the same bytes, whatever runs they have."""

import subprocess
from pathlib import Path

import pytest

from services.review import assets

PACKING = Path(assets.__file__).parent / "static" / "views" / "lesion_file.js"
SCRIPT = """
const { gzipped } = await import(process.argv[1]);
const { gunzipSync } = await import("node:zlib");
let seed = 1;
const draw = (below) => { seed = (seed * 48271) % 2147483647; return seed % below; };
for (let number = 0; number < 500; number += 1) {
  const bytes = new Uint8Array(draw(1500));
  for (let at = 0; at < bytes.length;) {
    const run = 1 + draw([3, 300, 900][draw(3)]);
    bytes.fill([0, 1, draw(256)][draw(3)], at, at + run);
    at += run;
  }
  const part = bytes.subarray(Math.min(bytes.length, draw(5)));
  const same = Buffer.compare(gunzipSync(gzipped(part)), Buffer.from(part)) === 0;
  if (!same) throw new Error(`${part.length} bytes come back otherwise`);
}
"""


def test_packed_bytes_come_back() -> None:
    command = ["node", "--input-type=module", "-e", SCRIPT, PACKING.as_uri()]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("Node.js packs masks as browsers do: apt-get install -y nodejs")
    assert result.returncode == 0, result.stderr
