import { expect, test } from 'vitest';
import { zipFiles } from './zip';

test('a zip holds each file after its header, and a directory at the end', async () => {
  const zip = await zipFiles([
    { name: 'a/数.json', file: new Blob(['123456789']) },
    { name: 'b.txt', file: new Blob(['words']) },
    { name: 'empty', file: new Blob([]) },
  ]);
  expect(zip.type).toBe('application/zip');
  const bytes = await zip.arrayBuffer();
  const text = new TextDecoder().decode(bytes);
  expect(text).toContain('a/数.json123456789');
  expect(text).toContain('b.txtwords');
  const view = new DataView(bytes);
  const end = bytes.byteLength - 22;
  expect(view.getUint32(end, true)).toBe(0x06054b50);
  expect(view.getUint16(end + 10, true)).toBe(3);
  const directory = view.getUint32(end + 16, true);
  expect(view.getUint32(directory, true)).toBe(0x02014b50);
  expect(view.getUint16(directory + 8, true) & 0x0800, 'names are UTF-8').toBe(0x0800);
  expect(view.getUint32(directory + 16, true), 'CRC-32').toBe(0xcbf43926);
  expect(view.getUint32(directory + 24, true)).toBe(9);
});

test('more files than a directory can count are refused', async () => {
  const file = new Blob([]);
  await expect(zipFiles(Array.from({ length: 65_536 }, (_, index) => ({ name: `${index}`, file })))).rejects.toThrow('at most 65535 files');
});
