// NIfTI files in the browser: the header of a scan, and masks on its very grid, written as uint8 in its voxel order.

const HEADER_BYTES = { 348: 352, 540: 544 };
const UINT8 = 2;
const READERS = {
  2: ["getUint8", 1], 4: ["getInt16", 2], 8: ["getInt32", 4], 16: ["getFloat32", 4], 64: ["getFloat64", 8],
  256: ["getInt8", 1], 512: ["getUint16", 2], 768: ["getUint32", 4],
};

/** Bytes of a file, unpacked if it is gzipped. */
export async function unpacked(bytes) {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Header of a NIfTI file: {bytes (with four zeros behind), little, large (NIfTI-2), dims, spacing (mm), datatype, offset}. */
export function headerOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const little = view.getInt32(0, true) in HEADER_BYTES;
  const size = view.getInt32(0, little);
  if (!(size in HEADER_BYTES)) throw new Error("not a NIfTI file");
  const large = size === 540;
  const header = new Uint8Array(HEADER_BYTES[size]);
  header.set(bytes.subarray(0, size));
  const dim = (axis) => (large ? Number(view.getBigInt64(16 + 8 * axis, little)) : view.getInt16(40 + 2 * axis, little));
  return {
    bytes: header, little, large,
    dims: [1, 2, 3].map(dim),
    spacing: [1, 2, 3].map((axis) => (large ? view.getFloat64(104 + 8 * axis, little) : view.getFloat32(76 + 4 * axis, little))),
    datatype: view.getInt16(large ? 12 : 70, little),
    offset: large ? Number(view.getBigInt64(168, little)) : view.getFloat32(108, little),
  };
}

/** File of a mask [voxels in the order of the file], with the geometry of a scan's header; gzipped. */
export function maskFile(header, voxels) {
  const file = new Uint8Array(header.bytes.length + voxels.length);
  file.set(header.bytes);
  const view = new DataView(file.buffer);
  const { little, large } = header;
  const zero = (from, to) => file.fill(0, from, to);
  if (large) {
    view.setInt16(12, UINT8, little);
    view.setInt16(14, 8, little);
    view.setBigInt64(168, BigInt(header.bytes.length), little);
    view.setFloat64(176, 1, little); // slope
    zero(80, 104); // intent
    zero(184, 344); // intercept, window, slices, texts
    zero(496, 500); // slices
    zero(504, 544); // intent, unused, extensions
  } else {
    zero(4, 40); // unused fields
    zero(56, 70); // intent
    view.setInt16(70, UINT8, little);
    view.setInt16(72, 8, little);
    zero(74, 76); // slices
    view.setFloat32(108, header.bytes.length, little);
    view.setFloat32(112, 1, little); // slope
    zero(116, 123); // intercept, slices
    zero(124, 252); // window, times, texts
    zero(328, 344); // intent
    zero(348, 352); // no extensions
  }
  file.set(voxels, header.bytes.length);
  return gzipped(file);
}

/** Voxels of a mask file as 0 and 1, if it has the grid of a scan's header. */
export async function maskOf(bytes, scan) {
  return (await maskWithHeader(bytes, (header) => checkDims(header, scan))).voxels;
}

function checkDims(header, scan) {
  if (header.dims.some((length, axis) => length !== scan.dims[axis])) throw new Error(`mask of ${header.dims.join(" × ")} voxels, scan of ${scan.dims.join(" × ")}`);
}

/** Header and voxels (0 and 1, in the order of the file) of a mask file. */
export async function maskWithHeader(bytes, check = () => {}) {
  const content = await unpacked(bytes);
  const header = headerOf(content);
  check(header);
  if (!(header.datatype in READERS)) throw new Error(`voxel type ${header.datatype}`);
  const [read, size] = READERS[header.datatype];
  const count = header.dims[0] * header.dims[1] * header.dims[2];
  const voxels = new Uint8Array(count);
  const view = new DataView(content.buffer, content.byteOffset + header.offset);
  for (let index = 0; index < count; index += 1) voxels[index] = view[read](index * size, header.little) > 0 ? 1 : 0;
  return { header, voxels };
}

export function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

export const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Shortest runs of the length codes of RFC 1951, and the number of bits behind each code. */
const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const EXTRA_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];

const LONGEST = LENGTHS.at(-1);
const LONGEST_CODE = 0b10100011; // 0xc5, the code of the longest run, from behind, and five zeros: from one byte before

/** Bits of a deflate stream, the least significant first. */
class Bits {
  constructor() {
    this.bytes = new Uint8Array(1 << 16);
    this.length = this.held = this.count = 0;
  }

  put(value, bits) {
    this.held |= value << this.count;
    this.count += bits;
    while (this.count >= 8) {
      if (this.length === this.bytes.length) {
        const larger = new Uint8Array(this.bytes.length * 2);
        larger.set(this.bytes);
        this.bytes = larger;
      }
      this.bytes[this.length] = this.held & 255;
      this.length += 1;
      this.held >>>= 8;
      this.count -= 8;
    }
  }

  /** A code of the fixed table, whose bits go the other way. */
  code(value, bits) {
    let reversed = 0;
    for (let bit = 0; bit < bits; bit += 1) reversed |= ((value >> bit) & 1) << (bits - 1 - bit);
    this.put(reversed, bits);
  }
}

/**
 * Gzip of bytes with long runs, at once: the browser's own compression only answers later, and an answer must be
 * complete when its key is pressed. Runs are repeated from the byte before, in the fixed code of RFC 1951.
 */
export function gzipped(bytes) {
  const bits = new Bits();
  bits.put(1, 1); // the last block
  bits.put(1, 2); // with the fixed code
  const literal = (byte) => (byte < 144 ? bits.code(0x30 + byte, 8) : bits.code(0x190 + byte - 144, 9));
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at];
    literal(byte);
    at += 1;
    let run = runAt(bytes, at, byte);
    at += run;
    for (; run >= LONGEST; run -= LONGEST) bits.put(LONGEST_CODE, 8 + 5);
    while (run >= LENGTHS[0]) {
      const code = LENGTHS.findLastIndex((length) => length <= run);
      const part = Math.min(run, (LENGTHS[code + 1] ?? LONGEST + 1) - 1);
      if (code < 23) bits.code(code + 1, 7);
      else bits.code(0xc0 + code - 23, 8);
      bits.put(part - LENGTHS[code], EXTRA_BITS[code]);
      bits.code(0, 5); // from one byte before
      run -= part;
    }
    for (; run > 0; run -= 1) literal(byte);
  }
  bits.code(0, 7); // the end
  if (bits.count) bits.put(0, 8 - bits.count);
  const file = new Uint8Array(10 + bits.length + 8);
  file.set([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
  file.set(bits.bytes.subarray(0, bits.length), 10);
  const view = new DataView(file.buffer);
  view.setUint32(file.length - 8, checksum(bytes), true);
  view.setUint32(file.length - 4, bytes.length, true);
  return file;
}

/** Number of bytes from a place on that are this one. */
function runAt(bytes, from, byte) {
  let at = from;
  const odd = (bytes.byteOffset + at) % 4;
  for (let left = odd ? 4 - odd : 0; left > 0 && bytes[at] === byte; left -= 1) at += 1;
  if ((bytes.byteOffset + at) % 4 === 0) { // four at a time
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset + at, (bytes.length - at) >> 2);
    const four = Math.imul(byte, 0x01010101) >>> 0;
    let word = 0;
    while (word < words.length && words[word] === four) word += 1;
    at += 4 * word;
  }
  while (at < bytes.length && bytes[at] === byte) at += 1;
  return at - from;
}

function checksum(bytes) {
  const table = new Uint32Array(256);
  for (let index = 0; index < 256; index += 1) {
    let value = index;
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    table[index] = value;
  }
  let sum = 0xffffffff;
  for (let at = 0; at < bytes.length; at += 1) sum = table[(sum ^ bytes[at]) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}
