// Reading: what stands where there is nothing yet, who said what, and how one gets through a long conversation.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { enter, openConversation, openPage, startBrowser, startServer, until, withServer } from './server.mjs';

const { server, inPage, make, say, shownTexts } = withServer();

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

describe('an empty store', () => {
  for (const [locale, nothing, key] of [['en-US', 'No conversations yet', 'Or press N'], ['zh-CN', '还没有会话', '或按 N']]) {
    test(`says once that it is empty, and promises nothing that is not there: ${locale}`, async () => {
      const [mine, browser] = [await startServer(), await startBrowser()];
      const { page, errors } = await openPage(browser, { locale });
      await enter(page, mine);
      await page.getByTestId('choose').waitFor();
      const [all, choose] = [await page.locator('body').innerText(), await page.getByTestId('choose').innerText()];
      await page.getByTestId('list-empty').locator('code', { hasText: 'manent import' }).waitFor();
      await browser.close();
      await mine.stop();
      assert.equal(all.split(nothing).length, 2, all);
      assert.ok(!all.includes('`'), all);
      assert.ok(!/other programs|其他程序/.test(all), all);
      const button = choose.search(/New conversation|新建会话/);
      assert.ok(button !== -1 && button < choose.indexOf(key), `the key comes after the button: ${choose}`);
      assert.deepEqual(errors, []);
    });
  }
});

describe('a phone', () => {
  inPage('shows the list while nothing is chosen', PHONE, async (page) => {
    const { id } = await make('To be chosen');
    await enter(page, server);
    await page.locator('nav.shown').waitFor({ timeout: 3000 });
    const row = page.locator(`[data-testid="row"][data-id="${id}"] a`);
    await row.click({ timeout: 3000 });
    await until(async () => page.url().includes(id), 'it is open');
    await until(async () => (await page.locator('nav.shown').count()) === 0, 'the list is closed');
    await page.goBack();
    await page.locator('nav.shown').waitFor({ timeout: 3000 });
  });
});
