// Typed HTTP client. Routes, parameters and responses follow openapi.json.

import { pass } from './pass';
import { isAborted, Problem } from './problem';
import type { Routes } from './schema';

type Given<R extends keyof Routes> = Wanted<'path', Routes[R]['path']> &
  Wanted<'query', Routes[R]['query']> &
  Wanted<'body', Routes[R]['body']>;

type Wanted<Name extends string, Value> = [Value] extends [undefined]
  ? { [name in Name]?: undefined }
  : { [name in Name]: Value };

/** Options of a request. */
export interface Manner {
  signal?: AbortSignal;
  /** Idempotency key: the server executes requests with the same key once. */
  key?: string;
  /** Expected version of the conversation (If-Match); another version is answered with 412. */
  version?: number;
  /** Lets the request outlive the page. */
  keepalive?: boolean;
  timeout_ms?: number;
}

const BASE = '/api/v1';
const TIMEOUT_MS = 30_000;

let refused: () => void = () => {};

/** Sets the callback for an ended session. */
export function onUnauthorized(then: () => void): void {
  refused = then;
}

/** Sends a request and returns its answer, or throws a `Problem`, or an `AbortError` if it was stopped. */
export async function call<R extends keyof Routes>(
  route: R,
  given: Given<R>,
  manner: Manner = {},
): Promise<Routes[R]['answer']> {
  const [method = 'GET', template = ''] = route.split(' ');
  const url = BASE + fill(template, given.path) + search(given.query);
  const headers: Record<string, string> = { ...pass(), accept: 'application/json' };
  if (given.body !== undefined) headers['content-type'] = 'application/json';
  if (manner.key !== undefined) headers['idempotency-key'] = manner.key;
  if (manner.version !== undefined) headers['if-match'] = `"${manner.version}"`;
  const timeout = AbortSignal.timeout(manner.timeout_ms ?? TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      method,
      headers,
      credentials: 'same-origin',
      redirect: 'error',
      keepalive: manner.keepalive ?? false,
      signal: manner.signal ? AbortSignal.any([manner.signal, timeout]) : timeout,
      ...(given.body === undefined ? {} : { body: JSON.stringify(given.body) }),
    });
    const text = await response.text();
    if (!response.ok) {
      if (response.status === 401 && route !== 'POST /session') refused();
      throw Problem.answered(response.status, text);
    }
    return (text === '' ? undefined : JSON.parse(text)) as Routes[R]['answer'];
  } catch (error) {
    throw isAborted(error) ? error : Problem.thrown(error);
  }
}

/** Puts values into the braces of a path. */
export function fill(template: string, values: Record<string, string> | undefined): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values?.[name] ?? ''));
}

/** Formats the query string without undefined values. */
export function search(values: object | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values ?? {})) {
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/** Returns a new idempotency key. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
