// Several files as one request body: an uncompressed zip.

import { downloadZip } from 'client-zip';

/** A file and its path below the folder that was chosen. */
export interface NamedFile {
  name: string;
  file: Blob;
}

/** More entries need a Zip64 directory, which client-zip writes for large archives only. */
const FILES_MAX = 65_535;

/** Writes files into an uncompressed zip. They are read one after the other, and the browser holds the result outside of the page's heap. */
export async function zipFiles(files: NamedFile[]): Promise<Blob> {
  if (files.length > FILES_MAX) throw new RangeError(`a zip holds at most ${FILES_MAX} files`);
  return downloadZip(files.map(({ name, file }) => ({ name, input: file }))).blob();
}
