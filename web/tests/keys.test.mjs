// What a key may not do, the page does not offer.

import assert from 'node:assert/strict';
import { enter, openConversation, withServer } from './server.mjs';

const { server, inPage } = withServer();

async function keyWith(scopes) {
  const made = await server.call('POST', '/keys', { name: 'a key', scopes });
  return { ...server, link: `${server.origin}/#token=${made.secret}` };
}

async function chat() {
  const made = await server.call('POST', '/conversations', { title: 'Kyoto' });
  await server.call('POST', `/conversations/${made.id}/messages`, { messages: [{ role: 'user', text: 'When do the maples turn?' }] });
  return made.id;
}

const count = (page, id) => page.getByTestId(id).count();

inPage('a key that reads offers no writing', {}, async (page) => {
  const id = await chat();
  await enter(page, await keyWith(['read']));
  await openConversation(page, id);
  await page.getByTestId('read-only').waitFor();
  await page.getByTestId('message').first().hover();
  for (const hidden of ['composer', 'new', 'row-menu', 'row-trash', 'header-rename', 'undo', 'message-edit', 'message-fork']) {
    assert.equal(await count(page, hidden), 0, hidden);
  }
  assert.equal(await count(page, 'message-copy'), 1);
  // The ways of the keyboard are closed as well.
  await page.keyboard.press('n');
  await page.keyboard.press('F2');
  await page.getByTestId('header-menu').click();
  await page.getByRole('menuitem').first().waitFor();
  assert.equal(await page.getByRole('menuitem').count(), 2, 'find and save');
});

inPage('a key that appends says things and changes nothing', {}, async (page) => {
  const id = await chat();
  await enter(page, await keyWith(['read', 'append']));
  await openConversation(page, id);
  await page.getByTestId('composer-field').fill('In November.');
  await page.getByTestId('send').click();
  await page.getByText('In November.').first().waitFor();
  await page.getByTestId('message-copy').first().waitFor({ state: 'attached' });
  for (const hidden of ['row-menu', 'header-rename', 'undo', 'message-edit']) assert.equal(await count(page, hidden), 0, hidden);
});

inPage('the token offers everything', {}, async (page) => {
  const id = await chat();
  await enter(page, server);
  await openConversation(page, id);
  await page.getByTestId('composer').waitFor();
  await page.getByTestId('message-edit').waitFor({ state: 'attached' });
  for (const offered of ['new', 'header-rename', 'undo', 'message-edit', 'message-fork']) assert.equal(await count(page, offered), 1, offered);
  assert.equal(await count(page, 'read-only'), 0);
});
