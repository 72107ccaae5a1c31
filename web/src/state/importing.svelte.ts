// An import from this page: one at a time, with its progress and what came of it.

import { importFile, importLines, isAborted, type ImportedReport } from '../api';
import { pack, type Named } from '../model/pack';
import { list } from './list.svelte';
import { problemText } from './toasts.svelte';

/** How far it is. */
export type Stage = 'sending' | 'reading' | 'done' | 'failed';

/** What one file, or several that belong together, came to. */
export interface Import {
  name: string;
  stage: Stage;
  records: number;
  report: ImportedReport | undefined;
  /** What went wrong, for people. */
  why: string;
}

/** What the first line of our own export begins with. */
const OURS = '{"type":"manent"';

class Importing {
  /** Shown until it is closed. */
  current: Import | undefined = $state();
  #controller = new AbortController();

  get running(): boolean {
    return this.current?.stage === 'sending' || this.current?.stage === 'reading';
  }

  /** Takes files in. Several go together, as they lay together. */
  async take(files: Named[]): Promise<void> {
    const first = files[0];
    if (first === undefined || this.running) return;
    const single = files.length === 1 && !first.name.includes('/');
    const name = single ? first.name : (first.name.split('/')[0] ?? first.name);
    this.#controller = new AbortController();
    this.current = { name, stage: 'sending', records: 0, report: undefined, why: '' };
    try {
      const body = single ? first.file : await pack(files);
      const report = single && (await isOurs(first.file)) ? await this.#lines(name, body) : await this.#file(name, body);
      this.#now({ stage: 'done', report });
    } catch (error) {
      if (isAborted(error)) this.current = undefined;
      else this.#now({ stage: 'failed', why: problemText(error) });
    }
    void list.refresh();
  }

  /** Stops what is on its way to the server; what the server has whole, it takes in. */
  stop(): void {
    this.#controller.abort();
  }

  close(): void {
    if (!this.running) this.current = undefined;
  }

  #now(change: Partial<Import>): void {
    if (this.current) this.current = { ...this.current, ...change };
  }

  #file(name: string, body: Blob): Promise<ImportedReport> {
    const tell = (records: number): void => this.#now({ stage: 'reading', records });
    return importFile(name, body, { signal: this.#controller.signal, tell });
  }

  async #lines(name: string, body: Blob): Promise<ImportedReport> {
    const said = await importLines(body, this.#controller.signal);
    const skipped = said.problems.map(({ line, why }) => ({ place: `${name} line ${line}`, record: 'line', why }));
    const count = { read: said.lines, mapped: said.lines - skipped.length, aside: 0, reported: skipped.length };
    const roots = [{ format: 'manent', generation: '1', path: name }];
    return { roots, records: { line: count }, conversations: [], library: 0, skipped };
  }
}

async function isOurs(file: Blob): Promise<boolean> {
  return (await file.slice(0, OURS.length).text()) === OURS;
}

export const importing = new Importing();
