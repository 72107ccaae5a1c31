// A server of its own for every test file, a browser for all of them, and pages that forgive no error.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const BINARY = process.env.MANENT_BIN ?? fileURLToPath(new URL('../../target/debug/manent', import.meta.url));
/** A built page that is served instead of the one in the server, so that it can be tested without building the server again. */
const PAGE = process.env.MANENT_PAGE && resolve(process.env.MANENT_PAGE);
const CHROMIUM = process.env.CHROMIUM_BIN ?? '/usr/bin/chromium';

/** Starts a server with an empty home and returns how to talk to it and how to stop it. */
export async function startServer(home = mkdtempSync(join(tmpdir(), 'manent-web-')), port = 0) {
  if (!existsSync(BINARY)) throw new Error(`no server at ${BINARY}; build it or set MANENT_BIN`);
  const child = spawn(BINARY, ['serve', '--listen', `127.0.0.1:${port}`], {
    env: { ...process.env, MANENT_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const origin = await new Promise((resolve, reject) => {
    const listen = (chunk) => {
      said += chunk;
      const found = /^Open (http:\/\/[^/\s]+)\//m.exec(said);
      if (found) resolve(found[1]);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
  // The link with the token is for terminals; here the token is read where the server keeps it.
  const token = readFileSync(join(home, 'token'), 'utf8').trim();
  const link = `${origin}/#token=${token}`;
  const gone = new Promise((resolve) => child.on('exit', resolve));
  return {
    link,
    origin,
    token,
    home,
    /** Ends the process and leaves its files. */
    async halt() {
      child.kill('SIGTERM');
      await gone;
    },
    async stop() {
      await this.halt();
      rmSync(home, { recursive: true, force: true });
    },
    call: (method, path, body, headers) => call(origin, token, method, path, body, headers),
  };
}

async function call(origin, token, method, path, body, headers = {}) {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Starts the browser; more arguments may bend how it finds hosts. */
export function startBrowser(more = []) {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  });
}

/** What a browser says when a request is refused; tests that provoke it allow it by name. */
export const REFUSED = /Failed to load resource/;

/** Opens a page in a context of its own. `errors` fills with whatever goes wrong in it. */
export async function openPage(browser, options = {}) {
  const { allow, ...rest } = options;
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: 'en-US',
    reducedMotion: 'reduce',
    ...rest,
  });
  if (PAGE) await context.route((url) => !url.pathname.startsWith('/api/'), servePage);
  const page = await context.newPage();
  const errors = watch(page, allow);
  return { context, page, errors };
}

const MEDIA_TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

/** Answers with a file of `MANENT_PAGE` and the headers of the server, which hold the content security policy. */
async function servePage(route) {
  const request = route.request();
  const { hostname, origin, pathname } = new URL(request.url());
  const top = request.frame().page().mainFrame();
  // What other sites ask for is the server's to answer.
  const isOwn = (request.isNavigationRequest() && request.frame() === top) || top.url().startsWith(`${origin}/`);
  if (hostname !== '127.0.0.1' || !isOwn) return route.fallback();
  const response = await route.fetch().catch(() => undefined);
  // The server is away, or the page was closed meanwhile.
  if (!response) return route.abort().catch(() => undefined);
  const file = join(PAGE, pathname === '/' ? 'index.html' : pathname);
  const headers = response.headers();
  if (!headers['x-request-id'] || !existsSync(file)) return route.fulfill({ response });
  delete headers['content-length'];
  headers['content-type'] = MEDIA_TYPES[extname(file)] ?? 'application/octet-stream';
  return route.fulfill({ status: 200, headers, body: readFileSync(file) });
}

/** Collects page errors, console errors, dialogs and requests to other hosts. */
export function watch(page, allow) {
  const errors = [];
  page.on('pageerror', (error) => errors.push(`page error: ${error.stack ?? error}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    if (!allow?.test(message.text())) errors.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on('dialog', (dialog) => {
    errors.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (/^https?:$/.test(protocol) && hostname !== '127.0.0.1') errors.push(`request to ${request.url()}`);
  });
  return errors;
}

/** Logs in by the link and waits for the list. */
export async function enter(page, server) {
  await page.goto(server.link);
  await page.getByTestId('rows').waitFor({ state: 'attached' });
  await page.waitForFunction(() => document.querySelector('[data-testid="rows"]')?.getAttribute('aria-busy') === 'false');
}

/** Opens a conversation and waits for its messages. */
export async function openConversation(page, id, message) {
  await page.evaluate((hash) => (location.hash = hash), message ? `#/c/${id}/m/${message}` : `#/c/${id}`);
  await page.waitForFunction(
    (id) => location.hash.includes(id) && document.querySelector('[data-testid="transcript"]')?.getAttribute('aria-busy') === 'false',
    id,
  );
}

/** Waits until a question that is asked again and again is answered with yes. */
export async function until(question, what, patience_ms = 10_000) {
  const end = Date.now() + patience_ms;
  for (;;) {
    const answer = await question();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`it never came true that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}

/** Gives a test file its server and its browser, and the short words that most of its tests are made of. */
export function withServer() {
  // Filled before the first test runs; until then there is nothing to talk to.
  const server = {};
  let browser;
  before(async () => {
    Object.assign(server, await startServer());
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await server.stop?.();
  });
  return {
    server,
    /** Runs a test in a page of its own and fails it for anything that went wrong there. */
    inPage(name, options, work) {
      test(name, async () => {
        const { context, page, errors } = await openPage(browser, options);
        try {
          await work(page, context);
        } finally {
          await context.close();
        }
        assert.deepEqual(errors, []);
      });
    },
    make: (title = 'A conversation') => server.call('POST', '/conversations', { title }),
    async say(id, ...texts) {
      const messages = texts.map((text, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', text }));
      return (await server.call('POST', `/conversations/${id}/messages`, { messages })).ids;
    },
    async textsOf(id) {
      const page = await server.call('GET', `/conversations/${id}/messages?limit=1000`);
      return page.messages.map((message) => message.parts[0]?.text);
    },
    shownTexts: async (page) => (await page.getByTestId('message-body').allInnerTexts()).map((text) => text.trim()),
  };
}
