import { afterEach, expect, test, vi } from 'vitest';
import { call, fill, freshKey, onUnauthorized, search } from './client';
import { isAborted, Problem } from './problem';

afterEach(() => {
  vi.unstubAllGlobals();
  onUnauthorized(() => {});
});

const answering = (status: number, body: string): ReturnType<typeof vi.fn> => {
  const fetched = vi.fn(async (..._: unknown[]) => new Response(status === 204 ? null : body, { status }));
  vi.stubGlobal('fetch', fetched);
  return fetched;
};
const problemOf = async (work: Promise<unknown>): Promise<Problem> =>
  work.then(
    () => expect.fail('it should have failed'),
    (error: unknown) => error as Problem,
  );

test('ids in a path cannot leave their place', () => {
  expect(fill('/conversations/{conversation}/draft', { conversation: '../x?y' })).toBe('/conversations/..%2Fx%3Fy/draft');
});

test('what is not given is not asked', () => {
  expect(search({ title: '天 气', after: undefined, status: '', limit: 50 })).toBe('?title=%E5%A4%A9+%E6%B0%94&limit=50');
  expect(search(undefined)).toBe('');
});

test('a body goes as JSON with its key', async () => {
  const fetched = answering(201, '{"ids":["msg_1"]}');
  const given = { path: { conversation: 'conv_1' }, body: { messages: [{ role: 'user', text: 'hi' }] } };
  await expect(call('POST /conversations/{conversation}/messages', given, { key: 'k' })).resolves.toEqual({ ids: ['msg_1'] });
  const [url, request] = fetched.mock.calls[0] as [string, RequestInit];
  expect(url).toBe('/api/v1/conversations/conv_1/messages');
  expect(request.headers).toMatchObject({ 'content-type': 'application/json', 'idempotency-key': 'k' });
});

test('a request for one version says which', async () => {
  const fetched = answering(200, '{}');
  await call('POST /conversations/{conversation}/undo', { path: { conversation: 'conv_1' }, body: {} }, { version: 7 });
  const [, request] = fetched.mock.calls[0] as [string, RequestInit];
  expect(request.headers).toMatchObject({ 'if-match': '"7"' });
});

test('a problem keeps its code and its words', async () => {
  answering(422, '{"type":"x","title":"x","status":422,"code":"name_length","detail":"too long"}');
  const problem = await problemOf(call('GET /session', {}));
  expect(problem).toMatchObject({ reach: 'answer', status: 422, code: 'name_length', detail: 'too long' });
});

test('an answer that is no problem JSON is still a problem', async () => {
  answering(502, '<html>bad gateway</html>');
  expect(await problemOf(call('GET /session', {}))).toMatchObject({ code: 'http_502', detail: 'HTTP 502' });
});

test('a server that cannot be reached is told from one that answers', async () => {
  vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('Failed to fetch')));
  expect(await problemOf(call('GET /session', {}))).toMatchObject({ reach: 'connection', detail: 'Failed to fetch' });
});

test('a request that takes too long says so', async () => {
  vi.stubGlobal('fetch', async (_: string, { signal }: RequestInit) =>
    new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error))),
  );
  expect(await problemOf(call('GET /session', {}, { timeout_ms: 5 }))).toMatchObject({ reach: 'timeout' });
});

test('a request that was stopped is no problem', async () => {
  const controller = new AbortController();
  vi.stubGlobal('fetch', async () => Promise.reject(new DOMException('stopped', 'AbortError')));
  const error = await call('GET /session', {}, { signal: controller.signal }).catch((error: unknown) => error);
  expect(isAborted(error)).toBe(true);
});

test('a session that ended is told at once', async () => {
  const refused = vi.fn();
  onUnauthorized(refused);
  answering(401, '{}');
  await problemOf(call('GET /conversations', { query: {} }));
  expect(refused).toHaveBeenCalledOnce();
});

test('keys differ', () => {
  expect(freshKey()).not.toBe(freshKey());
});

test('a query that cannot be read says where', async () => {
  answering(400, '{"status":400,"code":"query","detail":"this parenthesis is not closed, at character 3","at":3}');
  const problem = await problemOf(call('GET /search', { query: { q: 'ab (' } }));
  expect([problem.code, problem.at]).toEqual(['query', 3]);
});
