// What machines can tell about access for everybody: axe in both languages, both themes, both widths.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { writeSamples } from './samples.mjs';
import { enter, openConversation, openPage, REFUSED, startBrowser, startServer } from './server.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let server;
let browser;
let ids;

before(async () => {
  server = await startServer();
  browser = await startBrowser();
  ids = await writeSamples(server);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Returns what axe calls serious or critical. The rules of the page forbid foreign scripts, so it is let in here. */
async function seriousIn(page, where) {
  await page.waitForTimeout(250);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${where}: ${id} ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`));
}

for (const locale of ['en-US', 'zh-CN']) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1440, 390]) {
      test(`axe finds nothing serious: ${locale}, ${colorScheme}, ${width} px`, async () => {
        const narrow = width < 768;
        const { context, page, errors } = await openPage(browser, {
          locale,
          colorScheme,
          viewport: { width, height: narrow ? 844 : 900 },
          hasTouch: narrow,
          isMobile: narrow,
          bypassCSP: true,
          allow: REFUSED,
        });
        const found = [];
        await page.goto(server.origin);
        await page.getByTestId('login').waitFor();
        found.push(...(await seriousIn(page, 'login')));
        await enter(page, server);
        for (const name of ['rust', 'weather']) {
          await openConversation(page, ids[name].id);
          await page.getByTestId('message').last().waitFor();
          await page.evaluate(() => document.querySelectorAll('[data-testid="fold"]').forEach((fold) => (fold.open = true)));
          found.push(...(await seriousIn(page, name)));
        }
        const menu = async () => {
          await page.getByTestId('header-menu').click();
          found.push(...(await seriousIn(page, 'menu')));
          await page.keyboard.press('Escape');
        };
        await menu();
        if (!narrow) {
          await page.getByTestId('header-rename').click();
          await page.getByTestId('name-field').fill('a/b');
          await page.getByTestId('name-field').press('Enter');
          found.push(...(await seriousIn(page, 'name problem')));
          await page.getByTestId('name-field').press('Escape');
        }
        const last = page.getByTestId('message').last();
        await last.hover();
        await last.getByTestId('message-edit').click();
        found.push(...(await seriousIn(page, 'edit')));
        await page.getByTestId('edit-field').press('Escape');
        await page.route('**/messages', (route) =>
          route.request().method() === 'POST' ? route.abort('connectionrefused') : route.fallback(),
        );
        await page.getByTestId('composer-field').fill('fails');
        await page.getByTestId('composer-field').press('Enter');
        await page.getByTestId('send-problem').waitFor();
        found.push(...(await seriousIn(page, 'failed send')));
        if (narrow) await page.getByTestId('open-drawer').click();
        found.push(...(await seriousIn(page, 'list')));
        await page.getByTestId('status-trashed').click();
        await page.getByTestId('list-empty').waitFor();
        found.push(...(await seriousIn(page, 'empty list')));
        if (narrow) await page.keyboard.press('Escape');
        await page.locator('body').press('Escape');
        await page.evaluate(() => document.activeElement?.blur());
        await page.keyboard.press('?');
        await page.getByTestId('keys').waitFor();
        found.push(...(await seriousIn(page, 'keys')));
        await context.close();
        assert.deepEqual(found, []);
        assert.deepEqual(errors, []);
      });
    }
  }
}
