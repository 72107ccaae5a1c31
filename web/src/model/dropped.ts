// Reads dropped or chosen files, including the contents of folders.

import type { NamedFile } from './zip';

/** Reads dropped files and folders recursively. A name is the path below what was dropped. */
export async function dropped(transfer: DataTransfer): Promise<NamedFile[]> {
  // The browser clears the list after the event, so it is read before the first await.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const plain = [...transfer.files];
  if (entries.length === 0) return plain.map((file) => ({ name: file.name, file }));
  const found: NamedFile[] = [];
  for (const entry of entries) await walk(entry, '', found);
  return found;
}

/** Reads the files chosen in a file dialog. */
export function chosen(files: FileList): NamedFile[] {
  return [...files].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
}

async function walk(entry: FileSystemEntry, folder: string, found: NamedFile[]): Promise<void> {
  const name = `${folder}${entry.name}`;
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    found.push({ name, file });
    return;
  }
  if (!isFolder(entry)) return;
  const reader = entry.createReader();
  for (;;) {
    // Each call returns up to 100 entries; an empty result is the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const inner of some) await walk(inner, `${name}/`, found);
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
