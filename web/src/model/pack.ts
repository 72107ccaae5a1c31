// Several files as one body: a zip that packs nothing, made of the files themselves, so that none lies in memory whole.

/** A file with its place below the folder that was given. */
export interface Named {
  name: string;
  file: Blob;
}

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
/** Names are UTF-8. */
const FLAGS = 0x0800;
const VERSION = 20;
/** The first day that the format knows. */
const DAY = 0x0021;

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Takes more bytes into a CRC-32. */
export function crc(sum: number, bytes: Uint8Array): number {
  let value = ~sum;
  for (const byte of bytes) value = (TABLE[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
  return ~value >>> 0;
}

async function crcOf(file: Blob): Promise<number> {
  let sum = 0;
  const reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return sum;
    sum = crc(sum, value);
  }
}

/** More than this needs a newer form of the format. */
export const PACKED_MAX = 65_535;

/** Puts files into a zip. */
export async function pack(files: Named[]): Promise<Blob> {
  if (files.length > PACKED_MAX) throw new RangeError(`more than ${PACKED_MAX} files`);
  const body: BlobPart[] = [];
  const directory: BlobPart[] = [];
  let offset = 0;
  let listed = 0;
  for (const { name, file } of files) {
    const bytes = new TextEncoder().encode(name);
    const about = [VERSION, FLAGS, 0, 0, DAY];
    const sizes = [await crcOf(file), file.size, file.size];
    const local = fields([LOCAL], about, sizes, [bytes.length, 0]);
    const central = fields([CENTRAL], [VERSION, ...about], sizes, [bytes.length, 0, 0, 0, 0], [0, offset]);
    body.push(local, bytes, file);
    directory.push(central, bytes);
    offset += local.byteLength + bytes.length + file.size;
    listed += central.byteLength + bytes.length;
  }
  const end = fields([END], [0, 0, files.length, files.length], [listed, offset], [0]);
  return new Blob([...body, ...directory, end], { type: 'application/zip' });
}

/** Writes groups of numbers: of four bytes and of two, by turns. */
function fields(...groups: number[][]): ArrayBuffer {
  const width = (index: number): number => (index % 2 === 0 ? 4 : 2);
  const view = new DataView(new ArrayBuffer(groups.reduce((sum, group, index) => sum + group.length * width(index), 0)));
  let at = 0;
  groups.forEach((group, index) => {
    for (const value of group) {
      if (width(index) === 4) view.setUint32(at, value, true);
      else view.setUint16(at, value, true);
      at += width(index);
    }
  });
  return view.buffer;
}
