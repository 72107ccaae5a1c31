// Import and export of files, with progress.

import { isAborted, Problem } from './problem';
import { search } from './client';
import { events } from './events';
import { pass } from './pass';
import type { FileImportReport, JsonlImportReport } from './schema';

/** Something that a format cannot hold. */
export interface Lost {
  what: string;
  count: number;
  conversations: number;
}

/** Progress callback and abort signal of an upload. */
export interface Watch {
  signal: AbortSignal;
  tell: (records: number) => void;
}

/** Uploads a file of another program and returns the report of its import. */
export async function importFile(name: string, body: Blob, watch: Watch): Promise<FileImportReport> {
  const response = await send(`/api/v1/import/files${search({ name })}`, 'application/octet-stream', body, watch.signal);
  let report: FileImportReport | undefined;
  for await (const { event, data } of events(response)) {
    if (event === 'progress') watch.tell((JSON.parse(data) as { records: number }).records);
    if (event === 'report') report = JSON.parse(data) as FileImportReport;
    if (event === 'problem') throw Problem.answered((JSON.parse(data) as { status: number }).status, data);
  }
  if (report === undefined) throw new Problem('connection', 0, 'connection', 'the answer ended early');
  return report;
}

/** Uploads native JSON lines and returns the report. */
export async function importLines(body: Blob, signal: AbortSignal): Promise<JsonlImportReport> {
  const response = await send('/api/v1/import', 'application/x-ndjson', body, signal);
  return (await response.json()) as JsonlImportReport;
}

/** Downloads an export in a format, with its file name and what the format could not hold. */
export async function exportFiles(
  query: { format: string; conversation?: string; redact?: boolean },
  signal: AbortSignal,
): Promise<{ name: string; file: Blob; lost: Lost[] }> {
  try {
    const response = await fetch(`/api/v1/export/files${search(query)}`, {
      headers: pass(),
      credentials: 'same-origin',
      redirect: 'error',
      signal,
    });
    if (!response.ok) throw Problem.answered(response.status, await response.text());
    const said = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get('content-disposition') ?? '')?.[1];
    const lost = JSON.parse(response.headers.get('manent-losses') ?? '[]') as Lost[];
    return { name: decodeURIComponent(said ?? query.format), file: await response.blob(), lost };
  } catch (error) {
    throw isAborted(error) ? error : Problem.thrown(error);
  }
}

/** Downloads native JSON lines of everything or of one conversation. */
export async function exportLines(conversation: string | undefined, signal: AbortSignal): Promise<{ name: string; file: Blob; lost: Lost[] }> {
  try {
    const query = conversation === undefined ? {} : { conversation };
    const response = await fetch(`/api/v1/export${search(query)}`, { headers: pass(), credentials: 'same-origin', redirect: 'error', signal });
    if (!response.ok) throw Problem.answered(response.status, await response.text());
    return { name: `${conversation ?? 'manent'}.jsonl`, file: await response.blob(), lost: [] };
  } catch (error) {
    throw isAborted(error) ? error : Problem.thrown(error);
  }
}

async function send(url: string, type: string, body: Blob, signal: AbortSignal): Promise<Response> {
  try {
    const headers = { ...pass(), 'content-type': type, accept: 'text/event-stream, application/json' };
    const response = await fetch(url, { method: 'POST', headers, credentials: 'same-origin', redirect: 'error', body, signal });
    if (!response.ok) throw Problem.answered(response.status, await response.text());
    return response;
  } catch (error) {
    throw isAborted(error) ? error : Problem.thrown(error);
  }
}
