// Writing: where the cursor stands, what an Undo takes back, and what is left when the server was away.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { enter, openConversation, until, withServer } from './server.mjs';

const { server, inPage, make, say, textsOf } = withServer();

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const focused = (page) => page.evaluate(() => document.activeElement?.dataset.testid);
const counted = async () => (await server.call('GET', '/conversations?limit=1000')).conversations.length;

describe('a new conversation', () => {
  const ways = {
    'by its button': [{}, (page) => page.getByTestId('new').press('Enter')],
    'by its key': [{}, (page) => page.keyboard.press('n')],
    'from the drawer of a phone': [
      PHONE,
      async (page) => {
        if ((await page.getByTestId('rail').getAttribute('class'))?.includes('shown') !== true) await page.getByTestId('open-drawer').click();
        await page.getByTestId('new').click();
      },
    ],
  };
  for (const [way, [options, begin]] of Object.entries(ways)) {
    inPage(`has the cursor in its first message: ${way}`, options, async (page) => {
      const { id } = await make('Open before it');
      await enter(page, server);
      await openConversation(page, id);
      const before = await counted();
      await begin(page);
      await until(async () => (await counted()) === before + 1, 'it is made');
      await until(async () => (await focused(page)) === 'composer-field', 'the cursor is there');
      await page.keyboard.type('a b');
      await page.keyboard.press('Enter');
      await page.getByTestId('message').waitFor();
      const made = /conv_\w+/.exec(page.url())[0];
      assert.notEqual(made, id);
      assert.deepEqual(await textsOf(made), ['a b']);
      assert.equal(await counted(), before + 1, 'and it is one');
    });
  }

  inPage('is one, however often the button is pressed meanwhile', {}, async (page) => {
    await enter(page, server);
    const before = await counted();
    await page.route('**/api/v1/conversations', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.fallback();
    });
    await page.getByTestId('new').focus();
    for (let press = 0; press < 4; press += 1) await page.keyboard.press('Space');
    await until(async () => (await focused(page)) === 'composer-field', 'the cursor is there');
    assert.equal(await counted(), before + 1);
  });
});
