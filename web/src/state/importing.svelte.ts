// Import of files: one at a time, with progress and report.

import { importFile, importLines, isAborted, type FileImportReport } from '../api';
import { zipFiles, type NamedFile } from '../model/zip';
import { list } from './list.svelte';
import { problemText } from './toasts.svelte';

/** The stage of an import. */
export type Stage = 'sending' | 'reading' | 'done' | 'failed';

/** The state of an import of one or more files. */
export interface Import {
  name: string;
  stage: Stage;
  records: number;
  report: FileImportReport | undefined;
  /** Imported conversations and messages. */
  conversations: number;
  messages: number;
  /** The translated error. */
  why: string;
}

/** The start of a native JSON lines export. */
const OURS = '{"type":"manent"';

class Importing {
  /** Shown until the user closes it. */
  current: Import | undefined = $state();
  #controller = new AbortController();

  get running(): boolean {
    return this.current?.stage === 'sending' || this.current?.stage === 'reading';
  }

  /** Imports files one by one and each folder as a whole. A failure does not stop the others. */
  async take(files: NamedFile[]): Promise<void> {
    if (files.length === 0 || this.running) return;
    this.#controller = new AbortController();
    const groups = grouped(files);
    const name = groups.map((group) => group.name).join(', ');
    this.current = { name, stage: 'sending', records: 0, report: undefined, conversations: 0, messages: 0, why: '' };
    const wrong: string[] = [];
    for (const group of groups) {
      try {
        this.#now({ stage: 'sending' });
        this.#add(await this.#one(group));
      } catch (error) {
        if (isAborted(error)) break;
        wrong.push(groups.length === 1 ? problemText(error) : `${group.name}: ${problemText(error)}`);
      }
    }
    if (this.current?.report === undefined && wrong.length === 0) this.current = undefined;
    else this.#now({ stage: this.current?.report === undefined ? 'failed' : 'done', why: wrong.join('\n') });
    void list.refresh();
  }

  async #one(group: Group): Promise<FileImportReport> {
    const [first] = group.files;
    if (group.files.length > 1 || first === undefined || first.name.includes('/')) return this.#file(group.name, await zipFiles(group.files));
    return (await isOurs(first.file)) ? this.#lines(group.name, first.file) : this.#file(group.name, first.file);
  }

  /** Adds the report of one of several imports. */
  #add(report: FileImportReport): void {
    const before = this.current?.report;
    const all: FileImportReport = {
      roots: [...(before?.roots ?? []), ...report.roots],
      records: { ...before?.records, ...report.records },
      conversations: [...(before?.conversations ?? []), ...report.conversations],
      library: (before?.library ?? 0) + report.library,
      unmapped: [...(before?.unmapped ?? []), ...(report.unmapped ?? [])],
      repaired: [...(before?.repaired ?? []), ...(report.repaired ?? [])],
      skipped: [...(before?.skipped ?? []), ...(report.skipped ?? [])],
    };
    const added = report.conversations.reduce((sum, conversation) => sum + conversation.added, 0);
    const { conversations = 0, messages = 0 } = this.current ?? {};
    this.#now({ report: all, conversations: conversations + report.conversations.length, messages: messages + added });
  }

  /** Aborts the upload. A file that the server has received completely is still imported. */
  stop(): void {
    this.#controller.abort();
  }

  close(): void {
    if (!this.running) this.current = undefined;
  }

  #now(change: Partial<Import>): void {
    if (this.current) this.current = { ...this.current, ...change };
  }

  #file(name: string, body: Blob): Promise<FileImportReport> {
    const tell = (records: number): void => this.#now({ stage: 'reading', records });
    return importFile(name, body, { signal: this.#controller.signal, tell });
  }

  async #lines(name: string, body: Blob): Promise<FileImportReport> {
    const said = await importLines(body, this.#controller.signal);
    const skipped = said.problems.map(({ line, why }) => ({ place: `${name} line ${line}`, record: 'line', why }));
    const count = { read: said.lines, mapped: said.lines - skipped.length, unmapped: 0, reported: skipped.length };
    const roots = [{ format: 'manent', generation: '1', path: name }];
    const { conversations = 0, messages = 0 } = this.current ?? {};
    this.#now({ conversations: conversations + said.conversations, messages: messages + said.messages });
    return { roots, records: { line: count }, conversations: [], library: 0, skipped };
  }
}

/** Files that are imported together. */
interface Group {
  name: string;
  files: NamedFile[];
}

/** Suffixes of files that SQLite writes beside a database. */
const BESIDE = /-(wal|shm|journal)$/;

/** Groups the files of a folder, and a database with its WAL and journal; every other file is a group of its own. */
function grouped(files: NamedFile[]): Group[] {
  const groups = new Map<string, NamedFile[]>();
  for (const file of files) {
    const [top = file.name, ...below] = file.name.split('/');
    const key = below.length > 0 ? `${top}/` : top.replace(BESIDE, '');
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  return [...groups].map(([key, members]) => ({ name: key.replace(/\/$/, ''), files: members }));
}

async function isOurs(file: Blob): Promise<boolean> {
  return (await file.slice(0, OURS.length).text()) === OURS;
}

export const importing = new Importing();
