// What was dropped on the page or chosen: files, and whole folders with what lies in them.

import type { NamedFile } from './zip';

/** Reads what was dropped; folders are walked, and their names stand before those of their files. */
export async function dropped(transfer: DataTransfer): Promise<NamedFile[]> {
  // The list is emptied as soon as the event is over, so it is read before anything is waited for.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const plain = [...transfer.files];
  if (entries.length === 0) return plain.map((file) => ({ name: file.name, file }));
  const found: NamedFile[] = [];
  for (const entry of entries) await walk(entry, '', found);
  return found;
}

/** Reads what was chosen in a dialog. */
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
    // It hands out a hundred at a time, and nothing at the end.
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
