// Writing: where the cursor stands, what an Undo takes back, and what is left when the server was away.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { enter, openConversation, REFUSED, startServer, until, withServer } from './server.mjs';

const { server, inPage, make, say, textsOf } = withServer();

/** Well before a notice goes by itself. */
const SOON_MS = 4000;
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

describe('the Undo of a notice', () => {
  const clear = async (page) => {
    await page.getByTestId('header-menu').click();
    await page.getByRole('menuitem', { name: 'Clear conversation' }).click();
    await page.getByTestId('question-yes').click();
    await page.getByTestId('toast-action').waitFor();
  };

  inPage('goes when a message is sent after the clearing', {}, async (page) => {
    const { id } = await make('Cleared');
    await say(id, 'one', 'two');
    await enter(page, server);
    await openConversation(page, id);
    await clear(page);
    await page.getByTestId('composer-field').fill('three');
    await page.getByTestId('composer-field').press('Enter');
    await page.getByTestId('message').waitFor();
    await until(async () => (await page.getByTestId('toast-action').count()) === 0, 'there is no Undo any more', SOON_MS);
    assert.deepEqual(await textsOf(id), ['three']);
  });

  inPage('takes back nothing that another program did meanwhile', { allow: REFUSED }, async (page) => {
    const { id } = await make('Cleared');
    await say(id, 'one', 'two');
    await enter(page, server);
    await openConversation(page, id);
    // What others do is not heard of for now.
    await page.route('**/journal**', (route) => route.abort());
    await page.route(`**/conversations/${id}`, (route) => route.abort());
    await clear(page);
    await say(id, 'from elsewhere');
    await page.getByTestId('toast-action').click();
    await until(async () => /has changed since/.test(await page.getByTestId('toast').last().innerText()), 'it says why not');
    assert.deepEqual(await textsOf(id), ['from elsewhere']);
  });

  inPage('goes when the conversation is restored from the trash elsewhere', {}, async (page) => {
    const { id } = await make('Thrown away');
    await make('Beside it');
    await enter(page, server);
    const row = page.locator(`[data-conversation-id="${id}"]`);
    await row.hover();
    await row.getByTestId('row-trash').click();
    await page.getByTestId('toast-action').waitFor();
    await server.call('POST', `/conversations/${id}/restore`, {});
    await row.waitFor();
    await until(async () => (await page.getByTestId('toast-action').count()) === 0, 'there is no Undo any more', SOON_MS);
  });

  inPage('of an edit stays for the edit alone', {}, async (page) => {
    const { id } = await make('Edited');
    await say(id, 'Teh question', 'An answer');
    await enter(page, server);
    await openConversation(page, id);
    const first = page.getByTestId('message').first();
    const edit = async (text) => {
      await first.hover();
      await first.getByTestId('message-edit').click();
      await page.getByTestId('edit-field').fill(text);
      await page.getByTestId('edit-save').click();
      await page.getByText(text, { exact: true }).waitFor();
    };
    await edit('The question');
    await page.getByTestId('toast-action').click();
    await page.getByText('Teh question', { exact: true }).waitFor();
    await edit('A question');
    await page.getByTestId('toast-action').waitFor();
    await say(id, 'from elsewhere');
    await page.getByText('from elsewhere').waitFor();
    await until(async () => (await page.getByTestId('toast-action').count()) === 0, 'there is no Undo any more', SOON_MS);
  });
});

describe('going elsewhere', () => {
  for (const [locale, name, title, undone] of [
    ['en-US', 'Clear conversation', 'Weather & trips', /You can undo this/],
    ['zh-CN', '清空当前', '天气', /可以撤销/],
  ]) {
    inPage(`closes a question, which names its conversation: ${locale}`, { locale }, async (page) => {
      const [{ id }, other] = [await make(title), await make('Another one')];
      await say(id, 'one', 'two');
      await enter(page, server);
      await openConversation(page, other.id);
      await openConversation(page, id);
      await page.getByTestId('header-menu').click();
      await page.getByRole('menuitem', { name }).click();
      const question = await page.getByTestId('question').innerText();
      assert.ok(question.includes(title), question);
      assert.match(question, undone);
      await page.goBack();
      await until(async () => page.url().includes(other.id), 'the other one is open');
      await until(async () => (await page.getByTestId('question').count()) === 0, 'the question is gone');
      assert.deepEqual(await textsOf(id), ['one', 'two']);
      await page.getByTestId('composer-field').click();
    });
  }

  inPage('closes the list of keys', {}, async (page) => {
    const [one, other] = [await make('One'), await make('Other')];
    await enter(page, server);
    await openConversation(page, one.id);
    await openConversation(page, other.id);
    await page.keyboard.press('?');
    await page.getByTestId('keys').waitFor();
    await page.goBack();
    await until(async () => (await page.getByTestId('keys').count()) === 0, 'it is gone');
  });

  inPage('closes the drawer of a phone', PHONE, async (page) => {
    const [one, other] = [await make('One'), await make('Other')];
    await enter(page, server);
    await openConversation(page, one.id);
    await openConversation(page, other.id);
    await page.getByTestId('open-drawer').click();
    await page.locator('nav.shown').waitFor();
    await page.goBack();
    await until(async () => (await page.locator('nav.shown').count()) === 0, 'it is closed');
  });
});

describe('a server that was away', () => {
  /** A page on a server of its own, with a message that was sent while nobody answered. */
  const unsent = async (page) => {
    const mine = await startServer();
    const { id } = await mine.call('POST', '/conversations', { title: 'Half a thought' });
    const other = await mine.call('POST', '/conversations', { title: 'Another one' });
    await enter(page, mine);
    await openConversation(page, id);
    await page.getByTestId('composer-field').waitFor();
    // A page that is still being read when the server goes has nothing to write on.
    await page.getByTestId('transcript-empty').waitFor();
    await mine.halt();
    await page.getByTestId('composer-field').fill('not lost');
    await page.getByTestId('composer-field').press('Enter');
    await page.getByTestId('send-problem').waitFor();
    await until(async () => (await page.getByTestId('composer-field').inputValue()) === 'not lost', 'it is in the input again');
    await page.getByTestId('offline').waitFor();
    const back = async () => {
      const again = await startServer(mine.home, new URL(mine.origin).port);
      await until(async () => (await page.getByTestId('offline').count()) === 0, 'the page has found it', 20_000);
      return again;
    };
    return { id, other: other.id, back };
  };

  inPage('gets the draft when it is back, and the red box goes', { allow: REFUSED }, async (page) => {
    const { id, back } = await unsent(page);
    await page.waitForTimeout(600);
    const again = await back();
    await until(async () => (await again.call('GET', `/conversations/${id}/draft`)).text === 'not lost', 'the draft is saved');
    await until(async () => (await page.getByTestId('send-problem').count()) === 0, 'the box is gone');
    assert.equal(await page.getByTestId('composer-field').inputValue(), 'not lost');
    await page.getByTestId('composer-field').press('Enter');
    await page.getByTestId('message').waitFor();
    const said = await again.call('GET', `/conversations/${id}/messages`);
    assert.deepEqual(said.messages.map((message) => message.parts[0].text), ['not lost']);
    await until(async () => (await again.call('GET', `/conversations/${id}/draft`)).text === '', 'the draft is gone');
    await page.goto('about:blank');
    await again.stop();
  });

  inPage('loses no draft when one goes elsewhere meanwhile, nor what could not be read', { allow: REFUSED }, async (page) => {
    const { id, other, back } = await unsent(page);
    await page.evaluate((hash) => (location.hash = hash), `#/c/${other}`);
    await page.getByTestId('transcript-problem').waitFor();
    const again = await back();
    await until(async () => (await page.getByTestId('transcript-problem').count()) === 0, 'the conversation is read by itself');
    await openConversation(page, id);
    await until(async () => (await page.getByTestId('composer-field').inputValue()) === 'not lost', 'the draft is there');
    assert.equal(await page.getByTestId('send-problem').count(), 0);
    await page.goto('about:blank');
    await again.stop();
  });

  inPage('loses no draft when the page is loaded anew before it could be saved', { allow: REFUSED }, async (page) => {
    const { id } = await make('Reloaded');
    await enter(page, server);
    await openConversation(page, id);
    await page.route('**/draft', (route) => (route.request().method() === 'PUT' ? route.abort('connectionrefused') : route.fallback()));
    await page.getByTestId('composer-field').fill('kept in this browser');
    await page.waitForTimeout(600);
    await page.reload();
    const field = page.getByTestId('composer-field');
    await until(async () => (await field.count()) === 1 && (await field.inputValue()) === 'kept in this browser', 'it is there');
    await page.unroute('**/draft');
    await page.reload();
    await until(async () => (await server.call('GET', `/conversations/${id}/draft`)).text === 'kept in this browser', 'and on the server in the end');
    await until(() => page.evaluate(() => !Object.keys(localStorage).some((key) => key.startsWith('manent.draft.'))), 'the browser keeps nothing that the server has');
  });

  inPage('loses no draft when its tab is closed before it could be saved', { allow: REFUSED }, async (page) => {
    const { id } = await make('Closed');
    await server.call('PUT', `/conversations/${id}/draft`, { text: 'an older text' });
    await enter(page, server);
    await openConversation(page, id);
    const field = page.getByTestId('composer-field');
    await until(async () => (await field.inputValue()) === 'an older text', 'the draft is there');
    await page.route('**/draft', (route) => (route.request().method() === 'PUT' ? route.abort('connectionrefused') : route.fallback()));
    await field.fill('typed while the server is away');
    await page.waitForTimeout(600);
    const address = page.url();
    await page.goto('about:blank');
    const another = await page.context().newPage();
    await another.goto(address);
    const again = another.getByTestId('composer-field');
    await until(async () => (await again.count()) === 1 && (await again.inputValue()) === 'typed while the server is away', 'another tab has it');
    await until(async () => (await server.call('GET', `/conversations/${id}/draft`)).text === 'typed while the server is away', 'and so has the server');
    await another.close();
  });
});

describe('keys', () => {
  inPage('c goes to the input; Ctrl+Z and Shift+Ctrl+Z undo and redo outside of fields', {}, async (page) => {
    const { id } = await make('Keys');
    await say(id, 'one');
    await say(id, 'two');
    await enter(page, server);
    await openConversation(page, id);
    await page.keyboard.press('c');
    await until(async () => (await focused(page)) === 'composer-field', 'the cursor is there', SOON_MS);
    await page.keyboard.type('cc');
    await page.keyboard.press('Control+z');
    assert.deepEqual(await textsOf(id), ['one', 'two'], 'in a field it is the key of the field');
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press('Control+z');
    await until(async () => (await textsOf(id)).length === 1, 'it is taken back', SOON_MS);
    await page.keyboard.press('Control+Shift+z');
    await until(async () => (await textsOf(id)).length === 2, 'it is done again', SOON_MS);
  });
});
