// Files of other programs: dropped or chosen, taken in, and given back.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { enter, REFUSED, until, withServer } from './server.mjs';

const { server, inPage, make, say } = withServer();

const entry = (id, message, role) => ({ entry_id: id, session_id: 's1', message, role, status: 0, create_at: '2024-01-01T00:00:00.000Z' });
const VELOCA = JSON.stringify({
  sessions: [{ session_id: 's1', name: '来自别处', status: 0, create_at: '2024-01-01T00:00:00.000Z' }],
  entries: [entry('e1', '你好', 'user'), entry('e2', 'Hello', 'assistant')],
  compacted_dialogues: [],
});

/** Drops files as a person would: the page sees a transfer with them. */
async function drop(page, files) {
  const transfer = await page.evaluateHandle((files) => {
    const made = new DataTransfer();
    for (const [name, text] of files) made.items.add(new File([text], name));
    return made;
  }, files);
  await page.dispatchEvent('main', 'dragenter', { dataTransfer: transfer });
  await page.getByTestId('drop-field').waitFor();
  await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
}

describe('a file that is dropped', () => {
  inPage('is taken in, reported, and opened from the report', {}, async (page) => {
    await enter(page, server);
    await drop(page, [['veloca-storage.json', VELOCA]]);
    await page.getByTestId('imported').waitFor();
    assert.match(await page.getByTestId('imported').innerText(), /Veloca: 1 conversation, 2 messages added/);
    await page.getByTestId('importing').getByRole('button', { name: '来自别处' }).click();
    await page.getByTestId('message').first().waitFor();
    assert.equal(await page.getByTestId('title').innerText(), '来自别处');
    await until(async () => (await page.getByTestId('drop-field').count()) === 0, 'the field is gone');
    await drop(page, [['veloca-storage.json', VELOCA]]);
    await page.getByTestId('imported').waitFor();
    assert.match(await page.getByTestId('imported').innerText(), /0 messages added/, 'again, it adds nothing');
  });

  inPage('of nobody is refused with a reason, and nothing changes', { allow: REFUSED }, async (page) => {
    await enter(page, server);
    const before = (await server.call('GET', '/conversations?limit=1000')).conversations.length;
    await drop(page, [['notes.txt', 'hello']]);
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /unknown format/);
    await page.keyboard.press('Escape');
    await until(async () => (await page.getByTestId('importing').count()) === 0, 'it is closed');
    assert.equal((await server.call('GET', '/conversations?limit=1000')).conversations.length, before);
  });

  inPage('with a broken record says which was skipped', {}, async (page) => {
    await enter(page, server);
    const broken = JSON.parse(VELOCA.replaceAll('s1', 's9'));
    broken.entries.push(7);
    await drop(page, [['broken.json', JSON.stringify(broken)]]);
    await page.getByTestId('skipped').waitFor();
    assert.match(await page.getByTestId('skipped').innerText(), /1 record skipped[^]*broken\.json at byte \d+/);
  });
});

describe('files that are chosen', () => {
  inPage('as a folder are one import', {}, async (page) => {
    const folder = mkdtempSync(join(tmpdir(), 'manent-vault-'));
    mkdirSync(join(folder, 'sessions'));
    const about = { sessionId: 'session_1', sessionName: '保险库', createdAt: 1, updatedAt: 2 };
    const index = { version: '1.0', currentSessionId: 'session_1', sessions: [{ ...about, messageCount: 1 }] };
    writeFileSync(join(folder, 'sessions_index.json'), JSON.stringify(index));
    writeFileSync(join(folder, 'sessions', 'session_1.json'), JSON.stringify({ ...about, messages: [{ role: 'user', content: '问' }] }));
    try {
      await enter(page, server);
      await page.getByTestId('import-folder').setInputFiles(folder);
      await page.getByTestId('imported').waitFor();
      assert.match(await page.getByTestId('imported').innerText(), /Obsidian RAG assistant: 1 conversation, 1 message added/);
      assert.match(await page.getByTestId('importing').innerText(), /1 problem repaired/, 'the question has no answer');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  inPage('may be an export of Manent itself', { allow: REFUSED }, async (page) => {
    await enter(page, server);
    const { id } = await make('Ours');
    await say(id, 'one');
    const lines = await (await fetch(`${server.origin}/api/v1/export?conversation=${id}`, { headers: { authorization: `Bearer ${server.token}` } })).text();
    await page.getByTestId('import-files').setInputFiles([{ name: 'manent.jsonl', mimeType: 'text/plain', buffer: Buffer.from(lines) }]);
    await page.getByTestId('imported').waitFor();
    assert.match(await page.getByTestId('imported').innerText(), /Manent JSON lines: 0 conversations, 0 messages added/, 'it is here already');
    await server.call('DELETE', `/conversations/${id}`);
    await server.call('POST', `/conversations/${id}/purge`, {});
    await page.getByTestId('importing').getByRole('button', { name: 'OK' }).click();
    await page.getByTestId('import-files').setInputFiles([{ name: 'manent.jsonl', mimeType: 'text/plain', buffer: Buffer.from(lines) }]);
    await until(async () => /1 conversation, 1 message added/.test(await page.getByTestId('imported').innerText()), 'what came in is counted');
  });

  inPage('of several kinds are imported each by itself, and one that fails hides nothing', { allow: REFUSED }, async (page) => {
    await enter(page, server);
    const { id } = await make('Travels');
    await say(id, 'one');
    const lines = await (await fetch(`${server.origin}/api/v1/export?conversation=${id}`, { headers: { authorization: `Bearer ${server.token}` } })).text();
    await server.call('DELETE', `/conversations/${id}`);
    await server.call('POST', `/conversations/${id}/purge`, {});
    await page.getByTestId('import-files').setInputFiles([
      { name: 'rubbish.json', mimeType: 'application/json', buffer: Buffer.from('{"nothing": "known"}') },
      { name: 'manent.jsonl', mimeType: 'text/plain', buffer: Buffer.from(lines) },
    ]);
    await page.getByTestId('imported').waitFor();
    assert.match(await page.getByTestId('imported').innerText(), /1 conversation, 1 message added/);
    assert.match(await page.getByTestId('import-problem').innerText(), /rubbish\.json/);
  });
});

describe('an export', () => {
  inPage('is saved as a file, without its secrets if asked', {}, async (page) => {
    const { id } = await make('Plans: a/b');
    await say(id, 'my key is sk-proj-0123456789abcdefghij');
    await enter(page, server);
    await page.evaluate((hash) => (location.hash = hash), `#/c/${id}`);
    await page.getByTestId('message').waitFor();
    await page.getByTestId('header-menu').click();
    await page.getByRole('menuitem', { name: 'Export…' }).click();
    await until(async () => (await page.getByTestId('export-format').locator('option').count()) > 5, 'the formats are known');
    await page.getByTestId('export-format').selectOption('markdown');
    await page.getByRole('checkbox').check();
    const [saved] = await Promise.all([page.waitForEvent('download'), page.getByTestId('export-save').click()]);
    assert.equal(saved.suggestedFilename(), 'Plans_ a_b.md');
    const text = readFileSync(await saved.path(), 'utf8');
    assert.match(text, /my key is \[redacted\]/);
    await until(async () => (await page.getByTestId('exporting').count()) === 0, 'it is closed');
  });
});
