// One error type for failed requests.

import type { Problem as ProblemBody } from './schema';

/** How far a request got. */
export type Reach = 'connection' | 'timeout' | 'answer';

/** A failed request. */
export class Problem extends Error {
  constructor(
    readonly reach: Reach,
    readonly status: number,
    /** Stable, for programs. */
    readonly code: string,
    /** For people, in English. */
    readonly detail: string,
    /** The place in a query that cannot be read, in characters. */
    readonly at?: number,
  ) {
    super(detail);
    this.name = 'Problem';
  }

  /** Parses the body of an error response. */
  static answered(status: number, text: string): Problem {
    const body = parsed(text);
    const code = typeof body?.code === 'string' ? body.code : `http_${status}`;
    const detail = typeof body?.detail === 'string' && body.detail !== '' ? body.detail : `HTTP ${status}`;
    return new Problem('answer', status, code, detail, typeof body?.at === 'number' ? body.at : undefined);
  }

  /** Converts an error of `fetch`. */
  static thrown(error: unknown): Problem {
    if (error instanceof Problem) return error;
    const name = error instanceof Error ? error.name : '';
    if (name === 'TimeoutError') return new Problem('timeout', 0, 'time_out', 'the request took too long');
    const detail = error instanceof Error && error.message !== '' ? error.message : String(error);
    return new Problem('connection', 0, 'connection', detail);
  }
}

/** Returns whether the request was aborted by the page; such errors are not shown. */
export function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

function parsed(text: string): Partial<ProblemBody> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
