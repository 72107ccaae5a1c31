// Follows the journal with server-sent events, so that changes by other clients appear.

import { call } from './client';
import { events } from './events';
import { pass } from './pass';
import type { JournalEntry } from './schema';

/** Whether the event stream is connected. */
export type LiveState = 'connecting' | 'open' | 'broken';

/** Callbacks for events. */
export interface Listener {
  changed(entry: JournalEntry): void;
  /** Events may have been missed; reload everything. */
  missed(): void;
  state(state: LiveState): void;
}

const RETRY_MS = [500, 1000, 2000, 5000, 10_000];

/** Follows the journal from its end. Returns a function that stops it. */
export function follow(listener: Listener): () => void {
  let source: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let position: number | undefined;
  let tries = 0;
  let stopped = false;

  async function open(): Promise<void> {
    listener.state('connecting');
    try {
      if (position === undefined) {
        position = await journalEnd();
        // Changes between the first load and the start of the stream would be missed.
        listener.missed();
      }
    } catch {
      return again();
    }
    if (stopped || document.hidden) return;
    const own = new AbortController();
    source = own;
    try {
      const response = await fetch(`/api/v1/journal?after=${position}`, {
        headers: { ...pass(), accept: 'text/event-stream' },
        credentials: 'same-origin',
        redirect: 'error',
        signal: own.signal,
      });
      if (response.ok) {
        tries = 0;
        listener.state('open');
        for await (const { event, data } of events(response)) {
          if (event !== 'change') continue;
          const entry = JSON.parse(data) as JournalEntry;
          position = entry.position;
          listener.changed(entry);
        }
      }
    } catch {
      // The connection ended: reconnect below from the last position.
    }
    if (own.signal.aborted) return;
    close();
    again();
  }

  function again(): void {
    if (stopped) return;
    if (tries > 0) listener.state('broken');
    const wait = RETRY_MS[Math.min(tries, RETRY_MS.length - 1)];
    tries += 1;
    timer = setTimeout(() => void open(), wait);
  }

  function close(): void {
    clearTimeout(timer);
    source?.abort();
    source = undefined;
  }

  // Browsers open six connections to a server; hidden tabs must not hold them all.
  function seen(): void {
    if (document.hidden) close();
    else if (source === undefined && !stopped) void open();
  }

  document.addEventListener('visibilitychange', seen);
  void open();
  return () => {
    stopped = true;
    document.removeEventListener('visibilitychange', seen);
    close();
  };
}

async function journalEnd(): Promise<number> {
  return (await call('GET /journal', { query: { after: 'end' } })).scanned_to;
}
