// Reading: what stands where there is nothing yet, who said what, and how one gets through a long conversation.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { enter, openConversation, openPage, REFUSED, startBrowser, startServer, until, withServer } from './server.mjs';

const { server, inPage, make, say, shownTexts } = withServer();

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

describe('an empty store', () => {
  for (const [locale, nothing, way, key] of [
    ['en-US', 'No conversations yet', 'drop files of another program', 'Or press N'],
    ['zh-CN', '还没有会话', '把其他程序的文件拖到这里', '或按 N'],
  ]) {
    test(`says once that it is empty, and how to fill it: ${locale}`, async () => {
      const [mine, browser] = [await startServer(), await startBrowser()];
      const { page, errors } = await openPage(browser, { locale });
      let all;
      let choose;
      try {
        await enter(page, mine);
        await page.getByTestId('choose').waitFor();
        [all, choose] = [await page.locator('body').innerText(), await page.getByTestId('choose').innerText()];
        await page.getByTestId('list-empty').filter({ hasText: way }).waitFor();
      } finally {
        await browser.close();
        await mine.stop();
      }
      assert.equal(all.split(nothing).length, 2, all);
      assert.ok(!all.includes('`'), all);
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
    const row = page.locator(`[data-conversation-id="${id}"] a`);
    await row.click({ timeout: 3000 });
    await until(async () => page.url().includes(id), 'it is open');
    await until(async () => (await page.locator('nav.shown').count()) === 0, 'the list is closed');
    await page.goBack();
    await page.locator('nav.shown').waitFor({ timeout: 3000 });
  });
});

describe('a link to a message', () => {
  inPage('on another branch shows it there, and changes nothing', {}, async (page) => {
    const { id } = await make('Linked');
    const [, answer] = await say(id, 'question', 'old answer', 'old thanks');
    await server.call('POST', `/conversations/${id}/regenerate`, { answer, with: { role: 'assistant', text: 'new answer' } });
    const { version } = await server.call('GET', `/conversations/${id}`);
    await enter(page, server);
    await openConversation(page, id, answer);
    await page.getByTestId('elsewhere').waitFor();
    assert.deepEqual(await shownTexts(page), ['question', 'old answer', 'old thanks']);
    assert.equal((await server.call('GET', `/conversations/${id}`)).version, version);
    await page.getByTestId('leave-branch').click();
    await until(async () => (await shownTexts(page)).join() === 'question,new answer', 'the shown path is back');
  });

  inPage('that does not exist says so', { allow: REFUSED }, async (page) => {
    const { id } = await make('Whole');
    const [message] = await say(id, 'the only one');
    await enter(page, server);
    await openConversation(page, id, `${message.slice(0, -4)}0000`);
    await page.getByTestId('missing').waitFor();
    assert.deepEqual(await shownTexts(page), ['the only one']);
  });
});

describe('2,000 messages', () => {
  inPage('Home and End reach the first and the last, and one goes on from there', {}, async (page) => {
    const { id } = await make('Long');
    for (let from = 0; from < 2000; from += 500) await say(id, ...Array.from({ length: 500 }, (_, index) => `Message ${from + index}`));
    await enter(page, server);
    await openConversation(page, id);
    const inSight = (text) =>
      until(
        () =>
          page.evaluate((text) => {
            const found = [...document.querySelectorAll('[data-testid="message-body"]')].find((one) => one.innerText.trim() === text);
            const box = found?.getBoundingClientRect();
            return box !== undefined && box.top > 0 && box.bottom < innerHeight;
          }, text),
        `“${text}” is in sight`,
        5000,
      );
    const goTo = (key) => page.keyboard.press(key);
    await inSight('Message 1999');
    await goTo('Home');
    await inSight('Message 0');
    await page.getByText('Start of the conversation').waitFor({ timeout: 3000 });
    // On from the start: every message once, in order.
    await until(async () => {
      await page.getByTestId('transcript').evaluate((one) => (one.scrollTop = one.scrollHeight));
      return (await page.getByTestId('message').count()) > 180;
    }, 'more is read');
    const shown = await shownTexts(page);
    assert.deepEqual(shown, shown.map((_, index) => `Message ${index}`));
    await goTo('End');
    await inSight('Message 1999');
    await until(async () => {
      await page.getByTestId('transcript').evaluate((one) => (one.scrollTop = 0));
      return (await page.getByTestId('message').count()) > 100;
    }, 'what stands before the end is read');
    await page.getByTestId('to-start').click();
    await inSight('Message 0');
    await page.getByTestId('to-end').click();
    await inSight('Message 1999');
  });
});

describe('Markdown', () => {
  inPage('is shown as what it means, and what is not Markdown as it was typed', {}, async (page) => {
    const { id } = await make('Markdown');
    const marked = '# Title\n\nSome **bold**, *italic* and `code`, [a link](https://example.com/x) and [none](javascript:alert(1)). ~~gone~~\n\n- one\n- two\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![x](https://evil.test/p.png) <img src=x>';
    const typed = 'line one\n   line two, 2 * 3 * 4\nsnake_case <b>x</b>';
    await say(id, typed, marked);
    await enter(page, server);
    await openConversation(page, id);
    const body = page.getByTestId('message-body').last();
    for (const tag of ['h3', 'strong', 'em', 'p code', 'li', 'blockquote', 'td', 's']) await body.locator(tag).first().waitFor({ timeout: 2000 });
    const links = await body.locator('a').evaluateAll((all) => all.map((one) => [one.getAttribute('href'), one.rel]));
    assert.ok(links.some(([href]) => href === 'https://example.com/x') && links.every(([href, rel]) => href.startsWith('https://') && rel.includes('noopener')), JSON.stringify(links));
    assert.equal(await body.locator('img').count(), 0);
    assert.match(await body.innerText(), /\[none\]\(javascript:alert\(1\)\)/);
    assert.equal(await page.getByTestId('message-body').first().innerText(), typed);
  });
});
