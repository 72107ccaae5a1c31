import { expect, test } from 'vitest';
import { crc, pack } from './pack';

test('the checksum is that of everybody else', () => {
  const bytes = new TextEncoder().encode('123456789');
  expect(crc(0, bytes)).toBe(0xcbf43926);
  expect(crc(crc(0, bytes.slice(0, 4)), bytes.slice(4))).toBe(0xcbf43926);
});

test('a zip holds each file after its header, and a directory at the end', async () => {
  const zip = await pack([
    { name: 'a/数.json', file: new Blob(['123456789']) },
    { name: 'b.txt', file: new Blob(['words']) },
  ]);
  const bytes = await zip.arrayBuffer();
  const text = new TextDecoder().decode(bytes);
  expect(text).toContain('a/数.json123456789');
  expect(text).toContain('b.txtwords');
  const view = new DataView(bytes);
  const end = bytes.byteLength - 22;
  expect(view.getUint32(end, true)).toBe(0x06054b50);
  expect(view.getUint16(end + 10, true)).toBe(2);
  const directory = view.getUint32(end + 16, true);
  expect(view.getUint32(directory, true)).toBe(0x02014b50);
  expect(view.getUint32(directory + 16, true)).toBe(0xcbf43926);
});
