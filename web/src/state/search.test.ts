import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Hit } from '../api';
import { FindInConversation } from './findInConversation.svelte';
import { Search } from './search.svelte';

interface Asked {
  query: URLSearchParams;
  answer: (body: object, status?: number) => void;
  signal: AbortSignal;
}
let asked: Asked[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  vi.stubGlobal('fetch', (url: string, { signal }: { signal: AbortSignal }) => {
    return new Promise<Response>((resolve) => {
      // It does not hear that it is stopped: the worst of all servers.
      const answer = (body: object, status = 200): void => resolve(new Response(JSON.stringify(body), { status }));
      asked.push({ query: new URL(url, 'http://x').searchParams, answer, signal });
    });
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const hit = (message: string, position = 1): Partial<Hit> => ({ conversation: 'conv', message, position, on_path: true });
const found = (messages: (string | null)[], next: string | null = null): object => ({
  hits: messages.map((message, index) => ({ ...hit(message ?? '', 100 - index), message })),
  total: { n: messages.length, more: next !== null },
  next,
  coverage: { position: 1, last: 1, waiting: 0, complete: true },
  timed_out: false,
  micros: 1500,
});
const wrong = { type: 'x', title: 'x', status: 422, code: 'query', detail: 'this quotation mark is not closed, at character 0', at: 0 };
const quiet = (): Promise<unknown> => vi.advanceTimersByTimeAsync(200);
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const messagesOf = ({ hits }: { hits: Hit[] }): unknown[] => hits.map((one) => one.message);

test('typing is answered once it pauses, and as something that goes on', async () => {
  const search = new Search();
  for (const text of ['h', 'he', 'hel']) search.type(text, 'typed');
  await quiet();
  expect(asked.map(({ query }) => [query.get('q'), query.get('typing')])).toEqual([['hel', 'true']]);
});

test('nothing is sent while a word is composed', async () => {
  const search = new Search();
  for (const text of ['x', 'xu', 'xuan']) search.type(text, 'composing');
  await quiet();
  expect(asked).toEqual([]);
  search.type('悬', 'typed');
  await quiet();
  expect(asked.map(({ query }) => query.get('q'))).toEqual(['悬']);
});

test('a late answer never replaces a newer one', async () => {
  const search = new Search();
  search.type('first', 'typed');
  await quiet();
  search.type('second', 'typed');
  await quiet();
  asked[1]?.answer(found(['new']));
  await settle();
  asked[0]?.answer(found(['old']));
  await settle();
  expect(messagesOf(search)).toEqual(['new']);
  expect([asked[0]?.signal.aborted, search.asking, search.answer?.text]).toEqual([true, false, 'second']);
});

test('an answer that comes after the search was closed is forgotten', async () => {
  const search = new Search();
  search.type('word', 'typed');
  await quiet();
  search.close();
  asked[0]?.answer(found(['late']));
  await settle();
  expect([search.hits, search.answer]).toEqual([[], undefined]);
});

test('a query that cannot be read is told after a pause, and the last hits stay', async () => {
  const search = new Search();
  search.type('word', 'typed');
  await quiet();
  asked[0]?.answer(found(['kept']));
  await settle();
  search.type('"word', 'typed');
  await quiet();
  asked[1]?.answer(wrong, 422);
  await settle();
  expect([search.problem, messagesOf(search)]).toEqual([undefined, ['kept']]);
  await vi.advanceTimersByTimeAsync(700);
  expect(asked[2]?.query.get('typing')).toBe(null);
  asked[2]?.answer(wrong, 422);
  await settle();
  expect([search.problem?.at, messagesOf(search)]).toEqual([0, ['kept']]);
  search.type('words', 'typed');
  expect(search.problem).toBe(undefined);
});

test('arrow keys go round, and on to the next page where there is one', async () => {
  const search = new Search();
  search.type('word', 'typed');
  await quiet();
  asked[0]?.answer(found(['a', 'b'], 'cursor'));
  await settle();
  const steps = [];
  for (const direction of [1, 1] as const) {
    await search.step(direction);
    steps.push(search.active);
  }
  const third = search.step(1);
  await settle();
  expect(asked[1]?.query.get('after')).toBe('cursor');
  asked[1]?.answer(found(['c']));
  await third;
  steps.push(search.active);
  await search.step(1);
  steps.push(search.active);
  await search.step(-1);
  steps.push(search.active);
  expect([steps, messagesOf(search)]).toEqual([[0, 1, 2, 0, 2], ['a', 'b', 'c']]);
});

test('a new order or scope asks again; what is not asked for is not sent', async () => {
  const search = new Search();
  search.type('word', 'typed');
  await quiet();
  expect([asked[0]?.query.get('include'), asked[0]?.query.get('in')]).toEqual([null, null]);
  search.sort('relevance');
  search.look('branches', 'too');
  search.look('trashed', 'too');
  search.look('branches', 'not');
  search.scope('conv', 'in use');
  await settle();
  const last = asked.at(-1)?.query;
  expect([last?.get('order'), last?.get('include'), last?.get('in')]).toEqual(['relevance', 'trashed', 'conv']);
  search.look('trashed', 'not');
  search.scope(undefined, 'in use');
  search.scope('binned', 'in the trash');
  await settle();
  expect(asked.at(-1)?.query.get('include')).toBe('trashed');
});

test('finding reads every page, counts messages only, and steps through them as they are read', async () => {
  const shown: unknown[] = [];
  const find = new FindInConversation((one) => shown.push(one.message));
  find.open('conv', 'in use');
  find.type('word', 'typed');
  await quiet();
  asked[0]?.answer(found(['d', 'c'], 'cursor'));
  await settle();
  const second = found(['b', 'a', null]) as { hits: Hit[] };
  second.hits.forEach((one) => (one.position = (one.position ?? 0) - 50));
  asked[1]?.answer(second);
  await settle();
  expect([messagesOf(find), find.place]).toEqual([['a', 'b', 'c', 'd'], 4]);
  find.step(1);
  find.step(1);
  find.step(-1);
  find.step(-1);
  expect([shown, find.place]).toEqual([['d', 'a', 'b', 'a', 'd'], 4]);
  find.close();
  expect([find.hits, find.within]).toEqual([[], undefined]);
});
