// The page as people use it, against a real server in a real browser.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { enter, openConversation, REFUSED, startServer, until, withServer } from './server.mjs';

const { server, inPage, make, say, textsOf, shownTexts } = withServer();

describe('the way in', () => {
  inPage('the printed link lets one in and leaves no token in the address', {}, async (page) => {
    await enter(page, server);
    assert.ok(!page.url().includes('token'), page.url());
    assert.equal(await page.evaluate(() => document.cookie), '');
    await page.reload();
    await page.getByTestId('rail').waitFor();
  });

  inPage('the cookie alone, as every port of the host gets it, lets nobody in', {}, async (page) => {
    await enter(page, server);
    const cookies = await page.context().cookies(server.origin);
    assert.ok(cookies.length > 0, 'the session has a cookie');
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const response = await fetch(`${server.origin}/api/v1/conversations`, { headers: { cookie } });
    assert.equal(response.status, 401);
    const secret = await page.evaluate(() => localStorage.getItem('manent-session'));
    const both = await fetch(`${server.origin}/api/v1/conversations`, { headers: { cookie, 'manent-session': secret } });
    assert.equal(both.status, 200);
  });

  inPage('without a session the page asks for the token and says how to get it', { allow: REFUSED }, async (page) => {
    await page.goto(server.origin);
    await page.getByTestId('login').waitFor();
    assert.match(await page.getByTestId('login').innerText(), /manent serve[\s\S]*manent token/);
    await page.getByTestId('token').fill('mnt_wrong');
    await page.getByTestId('enter').click();
    assert.match(await page.getByTestId('login-problem').innerText(), /Wrong token/);
    await page.getByTestId('token').fill(server.link);
    await page.getByTestId('enter').click();
    await page.getByTestId('rail').waitFor();
  });
});

describe('the way in by a tab that is open', () => {
  inPage('the link works in a tab that shows the login', { allow: REFUSED }, async (page) => {
    await page.goto(server.origin);
    await page.getByTestId('login').waitFor();
    await page.evaluate((link) => (location.href = link), server.link);
    await page.getByTestId('rail').waitFor();
    assert.ok(!page.url().includes('token'), page.url());
  });
});

describe('the list', () => {
  inPage('200 conversations are read in pages while one scrolls', {}, async (page) => {
    const made = [];
    for (let index = 0; index < 200; index += 1) made.push((await make(`Row ${index}`)).id);
    const asked = [];
    page.on('request', (request) => request.url().includes('/conversations?') && asked.push(request.url()));
    await enter(page, server);
    const rows = page.getByTestId('row');
    assert.ok((await rows.count()) < 200, 'the first page does not hold them all');
    await until(async () => {
      await page.getByTestId('rows').evaluate((element) => (element.scrollTop = element.scrollHeight));
      return (await rows.count()) >= 200;
    }, 'all rows are there');
    const ids = await rows.evaluateAll((all) => all.map((row) => row.dataset.conversationId));
    assert.equal(new Set(ids).size, ids.length, 'no row twice');
    assert.ok(made.every((id) => ids.includes(id)), 'no row is missing');
    assert.ok(asked.some((url) => url.includes('after=')), 'pages go on by key');
    await page.getByTestId('search-field').fill('row 19');
    const hits = page.getByTestId('hit');
    await until(async () => (await hits.count()) === 11, 'only titles with the text are found');
    await page.getByTestId('search-field').fill('no such title');
    await page.getByTestId('search-nothing').waitFor();
    await page.keyboard.press('Escape');
    await until(async () => (await rows.first().isVisible()) && (await rows.count()) >= 50, 'Esc shows the list again');
  });

  inPage('a conversation in the trash comes back with Undo', {}, async (page) => {
    const { id } = await make('Thrown away');
    await enter(page, server);
    await openConversation(page, id);
    const row = page.locator(`[data-conversation-id="${id}"]`);
    await row.hover();
    await row.getByTestId('row-trash').click();
    await until(async () => (await row.count()) === 0, 'the row is gone');
    assert.equal((await server.call('GET', `/conversations/${id}`)).status, 'trashed');
    assert.ok(!page.url().includes(id), 'another one is open');
    await page.getByTestId('toast-action').click();
    await row.waitFor();
    assert.equal((await server.call('GET', `/conversations/${id}`)).status, 'active');
  });

  inPage('what is deleted for good is asked about in the words of the design', { locale: 'zh-CN' }, async (page) => {
    const { id } = await make('天气');
    await server.call('DELETE', `/conversations/${id}`);
    await enter(page, server);
    await page.getByTestId('status-trashed').click();
    const row = page.locator(`[data-conversation-id="${id}"]`);
    const purge = async (answer) => {
      await row.hover();
      await row.getByTestId('row-menu').click();
      await page.getByRole('menuitem', { name: '彻底删除' }).click();
      assert.match(await page.getByTestId('question').innerText(), /确定删除会话「天气」吗？此操作不可撤销。/);
      await page.getByTestId(`question-${answer}`).click();
    };
    await row.waitFor();
    await purge('no');
    assert.equal((await server.call('GET', `/conversations/${id}`)).status, 'trashed');
    await purge('yes');
    await until(async () => (await row.count()) === 0, 'the row is gone');
    await assert.rejects(server.call('GET', `/conversations/${id}`), /404/);
  });

  inPage('pinned ones stand first, archived ones in their own list', {}, async (page) => {
    const { id } = await make('Pin me');
    await make('Later');
    await enter(page, server);
    const row = page.locator(`[data-conversation-id="${id}"]`);
    const choose = async (name) => {
      await row.hover();
      await row.getByTestId('row-menu').click();
      await page.getByRole('menuitem', { name, exact: true }).click();
    };
    await choose('Pin');
    await until(async () => (await page.getByTestId('row').first().getAttribute('data-conversation-id')) === id, 'it stands first');
    await choose('Archive');
    await until(async () => (await row.count()) === 0, 'it left the list');
    await page.getByTestId('status-archived').click();
    await row.waitFor();
    await choose('Restore');
    await until(async () => (await row.count()) === 0, 'it left the archive');
    await server.call('PATCH', `/conversations/${id}`, { pinned: false });
  });

  inPage('a new conversation is named by its time and opened', { locale: 'zh-CN' }, async (page) => {
    await enter(page, server);
    await page.keyboard.press('n');
    await until(async () => /^新会话 \d\d-\d\d \d\d:\d\d$/.test(await page.getByTestId('title').innerText()), 'it has its name');
    await page.getByTestId('transcript-empty').waitFor();
  });
});

describe('names', () => {
  const problems = {
    'en-US': ['The name cannot be empty', 'The name must have 1–50 characters', 'The name cannot contain special characters'],
    'zh-CN': ['会话名称不能为空', '会话名称长度应在 1-50 个字符之间', '会话名称不能包含特殊字符'],
  };
  for (const [locale, [empty, length, characters]] of Object.entries(problems)) {
    inPage(`the three rules are told in ${locale}, and the old name stays`, { locale }, async (page) => {
      const { id } = await make('Old name');
      await enter(page, server);
      await openConversation(page, id);
      const title = page.locator(`[data-conversation-id="${id}"]`).getByTestId('row-title');
      await title.dblclick();
      const field = page.getByTestId('name-field');
      assert.equal(await field.evaluate((input) => input.value.slice(input.selectionStart, input.selectionEnd)), 'Old name');
      for (const [name, problem] of [['   ', empty], ['名'.repeat(51), length], ['a/b', characters]]) {
        await field.fill(name);
        await field.press('Enter');
        const told = await page.getByTestId('name-problem').innerText();
        assert.ok(told.startsWith(problem), told);
        if (problem === characters) assert.ok(told.endsWith('/'), 'it says which character');
      }
      await field.press('Escape');
      assert.equal(await title.innerText(), 'Old name');
      assert.equal((await server.call('GET', `/conversations/${id}`)).title, 'Old name');
      // Leaving the field with a bad name restores the old one and says why.
      await title.dblclick();
      await field.fill('a:b');
      await page.getByTestId('composer-field').click();
      const told = await page.getByTestId('toast').last().locator('span').innerText();
      assert.ok(told.startsWith(characters) && told.endsWith(':'), told);
      assert.equal(await title.innerText(), 'Old name');
    });

    inPage(`what only the server sees is told in ${locale} too`, { locale, allow: REFUSED }, async (page) => {
      const { id } = await make('Old name');
      await enter(page, server);
      await openConversation(page, id);
      for (const [code, problem] of [['name_empty', empty], ['name_length', length], ['name_characters', characters]]) {
        await page.route('**/rename', (route) => route.fulfill({ status: 422, json: { code, detail: 'x' } }));
        await page.getByTestId('header-rename').click();
        await page.getByTestId('name-field').fill('Good name');
        await page.getByTestId('name-field').press('Enter');
        assert.equal(await page.getByTestId('name-problem').innerText(), problem);
        await page.getByTestId('name-field').press('Escape');
      }
    });
  }

  inPage('Enter and leaving save, in the list and above the messages', { locale: 'zh-CN' }, async (page) => {
    const { id } = await make('旧名');
    await enter(page, server);
    await openConversation(page, id);
    const row = page.locator(`[data-conversation-id="${id}"]`);
    await row.locator('a').press('F2');
    await page.getByTestId('name-field').fill('  新名  ');
    await page.getByTestId('name-field').press('Enter');
    await until(async () => (await page.getByTestId('title').innerText()) === '新名', 'the title follows the list');
    assert.match(await page.getByTestId('toast').last().innerText(), /会话已重命名/);
    await page.getByTestId('header-rename').click();
    await page.getByTestId('name-field').fill('又一个名');
    await page.getByTestId('composer-field').click();
    await until(async () => (await row.getByTestId('row-title').innerText()) === '又一个名', 'the list follows the title');
    assert.equal((await server.call('GET', `/conversations/${id}`)).title, '又一个名');
  });

  inPage('Enter that ends a composition saves nothing', {}, async (page) => {
    const { id } = await make('Composing');
    await enter(page, server);
    await openConversation(page, id);
    await page.getByTestId('header-rename').click();
    const field = page.getByTestId('name-field');
    await field.fill('pin yin');
    await field.evaluate((input) =>
      input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true })),
    );
    assert.equal(await field.count(), 1);
    assert.equal((await server.call('GET', `/conversations/${id}`)).title, 'Composing');
    await field.press('Escape');
  });
});

describe('the messages', () => {
  inPage('500 messages are read both ways, and the reader keeps the place', {}, async (page) => {
    const { id } = await make('Long');
    for (let from = 0; from < 500; from += 100) await say(id, ...Array.from({ length: 100 }, (_, index) => `Message ${from + index}`));
    await enter(page, server);
    await openConversation(page, id);
    await page.getByText('Message 499', { exact: true }).waitFor();
    const transcript = page.getByTestId('transcript');
    const gap = await transcript.evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight);
    assert.ok(gap < 4, `it opens at the end, not ${gap} px above`);
    const seen = new Set();
    const look = async () => {
      for (const text of await shownTexts(page)) seen.add(text);
      assert.ok((await page.getByTestId('message').count()) <= 300, 'at most 300 are mounted');
    };
    // What stands in the middle of the screen must not jump when a page is put in above it.
    await transcript.evaluate((one) => {
      window.jumps = [];
      const middle = () => {
        const box = one.getBoundingClientRect();
        return document.elementFromPoint(box.left + box.width / 2 - 300, box.top + box.height / 2)?.closest('[data-message-id]');
      };
      let last = { element: middle(), scroll: one.scrollTop };
      new MutationObserver(() => {
        const { element, top } = last;
        requestAnimationFrame(() => {
          if (!element?.isConnected || top === undefined) return;
          const moved = element.getBoundingClientRect().top - top;
          if (Math.abs(moved) > 400) window.jumps.push(moved);
        });
      }).observe(one, { childList: true, subtree: true });
      one.addEventListener('scroll', () => {
        const element = middle();
        last = { element, top: element?.getBoundingClientRect().top };
      });
    });
    const wheel = async (by, text) => {
      const box = await transcript.boundingBox();
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await until(
        async () => {
          await page.mouse.wheel(0, by);
          await page.waitForTimeout(15);
          await look();
          return seen.has(text) && (await page.getByText(text, { exact: true }).count()) > 0;
        },
        `“${text}” is reached`,
        60_000,
      );
    };
    await wheel(-700, 'Message 0');
    assert.equal(seen.size, 500, 'every message was seen on the way up');
    seen.clear();
    await wheel(700, 'Message 499');
    assert.equal(seen.size, 500, 'every message was seen on the way down');
    const order = await shownTexts(page);
    assert.deepEqual(order, Array.from({ length: order.length }, (_, index) => `Message ${500 - order.length + index}`));
    assert.deepEqual(await page.evaluate(() => window.jumps), []);
  });

  inPage('a link leads to a message in the middle, and on from there', {}, async (page) => {
    const { id } = await make('Linked');
    const ids = [];
    for (let from = 0; from < 200; from += 100) ids.push(...(await say(id, ...Array.from({ length: 100 }, (_, index) => `Line ${from + index}`))));
    await enter(page, server);
    await openConversation(page, id, ids[90]);
    const target = page.locator(`[data-message-id="${ids[90]}"]`);
    await target.waitFor();
    const top = await target.evaluate((one) => one.getBoundingClientRect().top);
    assert.ok(top > 50 && top < 500, `it stands at ${top}`);
    await page.getByTestId('to-end').click();
    await page.getByText('Line 199', { exact: true }).waitFor();
  });

  inPage('a link leads to a message whose conversation is told last', {}, async (page) => {
    const { id } = await make('Told last');
    const ids = await say(id, ...Array.from({ length: 100 }, (_, index) => `Line ${index}`));
    const { id: other } = await make('Open before');
    await enter(page, server);
    // Of a conversation that is open already everything is known.
    await openConversation(page, other);
    await page.route(`**/conversations/${id}`, async (route) => {
      // What stands above the messages is there as soon as they are.
      await page.locator('#messages .edge').waitFor();
      await route.fallback();
    });
    await openConversation(page, id, ids[50]);
    const top = await page.locator(`[data-message-id="${ids[50]}"]`).evaluate((one) => one.getBoundingClientRect().top);
    assert.ok(top > 50 && top < 500, `it stands at ${top}`);
  });

  inPage('a message that is added is on the server, and once', {}, async (page) => {
    const { id } = await make('Say something');
    await enter(page, server);
    await openConversation(page, id);
    const field = page.getByTestId('composer-field');
    await field.fill('first line');
    await field.press('Shift+Enter');
    await field.pressSequentially('second line');
    await field.evaluate((one) =>
      one.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true })),
    );
    assert.deepEqual(await textsOf(id), [], 'Enter of a composition sends nothing');
    await field.press('Enter');
    await page.getByTestId('message').waitFor();
    assert.deepEqual(await textsOf(id), ['first line\nsecond line']);
    assert.equal(await field.inputValue(), '');
    await page.getByTestId('composer-role').selectOption('assistant');
    await field.fill('an answer');
    await page.getByTestId('send').click();
    await page.locator('[data-testid="message"][data-role="assistant"]').waitFor();
    assert.deepEqual(await textsOf(id), ['first line\nsecond line', 'an answer']);
    const row = page.locator(`[data-conversation-id="${id}"]`);
    await until(async () => (await row.getByTestId('row-count').innerText()) === '2 messages', 'the row counts them');
    await until(async () => (await server.call('GET', `/conversations/${id}/draft`)).text === '', 'the draft is gone');
  });

  inPage('what could not be sent returns to the input, and a retry says it once', { locale: 'zh-CN', allow: REFUSED }, async (page) => {
    const { id } = await make('失败');
    await enter(page, server);
    await openConversation(page, id);
    const field = page.getByTestId('composer-field');
    const keys = [];
    // The server stores it, but its answer is lost on the way: the worst case for doubling.
    await page.route('**/messages', async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      keys.push(route.request().headers()['idempotency-key']);
      if (keys.length > 1) return route.fallback();
      await route.fetch();
      return route.abort('connectionreset');
    });
    await field.fill('你好');
    await field.press('Enter');
    await page.getByTestId('send-problem').waitFor();
    assert.match(await page.getByTestId('send-problem').innerText(), /🔌 无法连接后端：/);
    assert.match(await page.getByTestId('toast').last().innerText(), /消息发送失败，已恢复到输入框/);
    assert.equal(await field.inputValue(), '你好');
    await page.getByTestId('send-retry').click();
    await until(async () => (await page.getByTestId('send-problem').count()) === 0, 'the error is gone');
    assert.equal(keys[0], keys[1], 'the retry has the same key');
    assert.deepEqual(await textsOf(id), ['你好']);
    await until(async () => (await page.getByTestId('message').count()) === 1, 'it is shown once');
    assert.equal(await field.inputValue(), '');
    // An answer that says no is quoted.
    await page.unroute('**/messages');
    await page.route('**/messages', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status: 507, json: { code: 'disk_full', detail: 'the disk is full' } }) : route.fallback(),
    );
    await field.fill('再见');
    await field.press('Enter');
    await page.getByTestId('send-problem').waitFor();
    assert.match(await page.getByTestId('send-problem').innerText(), /❌ the disk is full/);
    assert.equal(await field.inputValue(), '再见');
  });

  inPage('a draft is there after a reload, and in another conversation is another one', {}, async (page) => {
    const [one, other] = [await make('One'), await make('Other')];
    await enter(page, server);
    await openConversation(page, one.id);
    const field = page.getByTestId('composer-field');
    await field.fill('half a thought');
    await until(async () => (await server.call('GET', `/conversations/${one.id}/draft`)).text === 'half a thought', 'it is kept');
    await field.fill('half a thought, and more');
    await openConversation(page, other.id);
    await until(async () => (await field.inputValue()) === '', 'the other one has no draft');
    await openConversation(page, one.id);
    await until(async () => (await field.inputValue()) === 'half a thought, and more', 'the draft is back');
    await page.reload();
    await until(async () => (await field.count()) === 1 && (await field.inputValue()) === 'half a thought, and more', 'it survives a reload');
  });

  inPage('alternatives are read in place without a write, and only where there are several', {}, async (page) => {
    const { id } = await make('Branches');
    const ids = await say(id, 'Question', 'First answer', 'More', 'Last');
    await server.call('POST', `/conversations/${id}/regenerate`, { answer: ids[1], with: { role: 'assistant', text: 'Second answer' } });
    const asked = [];
    page.on('request', (request) => request.url().endsWith('/siblings') && asked.push(request.url()));
    await enter(page, server);
    await openConversation(page, id);
    await page.getByTestId('siblings').waitFor();
    assert.equal(await page.getByTestId('siblings').count(), 1);
    assert.deepEqual(await shownTexts(page), ['Question', 'Second answer']);
    assert.equal(asked.length, 1, 'one message at a fork, one request');
    await page.getByTestId('sibling-previous').click();
    await until(async () => (await page.getByText('First answer').count()) === 1, 'the first answer is shown');
    await until(async () => (await page.getByTestId('message').count()) === 4, 'with what followed it');
    assert.equal(await page.getByTestId('sibling-place').innerText(), '1/2');
    assert.deepEqual(await textsOf(id), ['Question', 'Second answer'], 'looking changes nothing');
    await page.getByTestId('sibling-next').click();
    await until(async () => (await page.getByText('Second answer').count()) === 1, 'the second answer is shown again');
    assert.equal(await page.getByTestId('elsewhere').count(), 0);
    await page.getByTestId('sibling-previous').click();
    await until(async () => (await page.getByTestId('message').count()) === 4, 'the first answer is shown');
    await page.getByTestId('composer-field').fill('Go on here');
    await page.getByTestId('send').click();
    await until(async () => (await textsOf(id)).at(-1) === 'Go on here', 'it is sent');
    assert.deepEqual(await textsOf(id), ['Question', 'First answer', 'More', 'Last', 'Go on here'], 'on the branch that was read');
    await until(async () => (await page.getByTestId('message').count()) === 5, 'and shown');
    assert.equal(await page.getByTestId('elsewhere').count(), 0);
  });

  inPage('an edit keeps the old version, and undo and redo go through both', {}, async (page) => {
    const { id } = await make('Edits');
    await say(id, 'Teh question', 'An answer');
    await enter(page, server);
    await openConversation(page, id);
    const first = page.getByTestId('message').first();
    await first.hover();
    await first.getByTestId('message-edit').click();
    await page.getByTestId('edit-field').fill('The question');
    await page.getByTestId('edit-save').click();
    await page.getByText('The question', { exact: true }).waitFor();
    assert.deepEqual(await textsOf(id), ['The question'], 'one asks again from here');
    await page.getByTestId('siblings').waitFor();
    await page.getByTestId('undo').click();
    await page.getByText('Teh question', { exact: true }).waitFor();
    assert.deepEqual(await textsOf(id), ['Teh question', 'An answer']);
    await page.getByTestId('redo').click();
    await page.getByText('The question', { exact: true }).waitFor();
    assert.deepEqual(await textsOf(id), ['The question']);
  });

  inPage('undo says what it would undo, never removes the conversation, and is off when there is nothing', {}, async (page) => {
    const { id } = await make('Steps');
    await enter(page, server);
    await openConversation(page, id);
    const undo = page.getByTestId('undo');
    await undo.waitFor();
    assert.equal(await undo.isDisabled(), true, 'a new conversation has nothing to undo');
    await say(id, 'Hello');
    await until(async () => (await undo.getAttribute('aria-label')) === 'Undo: new message', 'it says what');
    await undo.click();
    await until(async () => (await textsOf(id)).length === 0, 'it is undone');
    await until(() => undo.isDisabled(), 'nothing is left');
    assert.equal(await page.getByTestId('redo').isDisabled(), false);
    assert.equal((await server.call('GET', `/conversations/${id}`)).title, 'Steps');
  });

  inPage('a conversation is open on every load, also while others change the list', {}, async (page) => {
    const { id } = await make('Busy');
    await enter(page, server);
    for (let load = 0; load < 5; load += 1) {
      await page.goto('about:blank');
      const changing = (async () => {
        for (let n = 0; n < 20; n += 1) await server.call('POST', `/conversations/${id}/rename`, { title: `Busy ${load} ${n}` });
      })();
      await page.goto(server.origin);
      await page.getByTestId('composer').waitFor();
      await changing;
    }
  });

  inPage('a fork begins a new conversation with the same past', {}, async (page) => {
    const { id } = await make('Origin');
    await say(id, 'One', 'Two', 'Three');
    await enter(page, server);
    await openConversation(page, id);
    const second = page.getByTestId('message').nth(1);
    await second.hover();
    await second.getByTestId('message-fork').click();
    await until(async () => (await page.getByTestId('title').innerText()) === 'Origin (fork)', 'the fork is open');
    await until(async () => (await page.getByTestId('message').count()) === 2, 'it ends where it forked');
    assert.deepEqual(await shownTexts(page), ['One', 'Two']);
  });

  inPage('clearing asks in the words of the design and can be undone', { locale: 'zh-CN' }, async (page) => {
    const { id } = await make('清空');
    await say(id, '一', '二');
    await enter(page, server);
    await openConversation(page, id);
    await page.getByTestId('header-menu').click();
    await page.getByRole('menuitem', { name: '清空当前' }).click();
    assert.match(await page.getByTestId('question').innerText(), /确定清空当前会话的所有消息吗？/);
    await page.getByTestId('question-yes').click();
    await page.getByTestId('transcript-empty').waitFor();
    await page.getByTestId('toast-action').click();
    await until(async () => (await page.getByTestId('message').count()) === 2, 'they are back');
  });

  inPage('reasoning and tools are folded, other parts are shown as what they are', {}, async (page) => {
    const { id } = await make('Parts');
    const parts = [
      { type: 'reasoning', text: 'Let me think about this.' },
      { type: 'tool_call', id: 'c', name: 'search', input: { query: 'weather' } },
      { type: 'tool_result', call: 'c', content: 'sunny' },
      { type: 'text', text: 'Look:\n```js\nlet a = 1;\n```' },
      { type: 'hologram', depth: 3 },
    ];
    await server.call('POST', `/conversations/${id}/messages`, { messages: [{ role: 'assistant', model: 'some-model', parts }] });
    await enter(page, server);
    await openConversation(page, id);
    const message = page.getByTestId('message');
    assert.match(await message.innerText(), /some-model/);
    const folds = await page.getByTestId('fold').evaluateAll((all) => all.map((one) => [one.dataset.kind, one.open]));
    assert.deepEqual(folds, [['reasoning', false], ['tool_call', false], ['tool_result', false], ['other', false]]);
    assert.match(await message.innerText(), /Called search\s+query: weather/);
    await page.locator('[data-kind="other"] summary').click();
    const other = page.locator('[data-kind="other"]');
    await until(async () => /"depth": 3/.test(await other.innerText()), 'what is in it is shown');
    assert.equal(await page.getByTestId('code').first().locator('code').innerText(), 'let a = 1;');
  });
});

describe('what others do', () => {
  inPage('appears by itself: a new one, a name, a message, a switch, a removal', {}, async (page) => {
    await enter(page, server);
    const { id } = await make('From elsewhere');
    const row = page.locator(`[data-conversation-id="${id}"]`);
    await row.waitFor();
    await openConversation(page, id);
    const ids = await say(id, 'Hello', 'from the CLI');
    await page.getByText('from the CLI').waitFor();
    await server.call('POST', `/conversations/${id}/rename`, { title: 'Renamed elsewhere' });
    await until(async () => (await page.getByTestId('title').innerText()) === 'Renamed elsewhere', 'the title follows');
    await server.call('POST', `/conversations/${id}/regenerate`, { answer: ids[1], with: { role: 'assistant', text: 'from another tab' } });
    await page.getByText('from another tab').waitFor();
    assert.equal(await page.getByText('from the CLI').count(), 0);
    await page.getByTestId('siblings').waitFor();
    await server.call('POST', `/conversations/${id}/undo`, {});
    await page.getByText('from the CLI').waitFor();
    await server.call('DELETE', `/conversations/${id}`);
    await page.getByTestId('status-banner').waitFor();
    await until(async () => (await row.count()) === 0, 'the row is gone');
  });

  inPage('a stream is seen while it is written, and when it ends', {}, async (page) => {
    const { id } = await make('Stream');
    await say(id, 'Tell me');
    await enter(page, server);
    await openConversation(page, id);
    const { ids } = await server.call('POST', `/conversations/${id}/streams`, { role: 'assistant', model: 'm' });
    await page.locator('[data-status="streaming"]').waitFor();
    await server.call('POST', `/messages/${ids[0]}/chunks`, { delta: 'Once upon' });
    await server.call('POST', `/messages/${ids[0]}/finish`, { status: 'incomplete', text: 'Once upon a time' });
    await page.getByText('Once upon a time').waitFor();
    assert.match(await page.locator('[data-status="incomplete"]').innerText(), /Ended early/);
  });

  inPage('a server that goes away and comes back is followed again', { allow: REFUSED }, async (page) => {
    const mine = await startServer();
    await enter(page, mine);
    await mine.halt();
    await page.getByTestId('offline').waitFor();
    const again = await startServer(mine.home, new URL(mine.origin).port);
    await until(async () => (await page.getByTestId('offline').count()) === 0, 'the banner goes', 20_000);
    const { id } = await again.call('POST', '/conversations', { title: 'After the pause' });
    await page.locator(`[data-conversation-id="${id}"]`).waitFor();
    await page.goto('about:blank');
    await again.stop();
  });
});

describe('the keyboard and small screens', () => {
  inPage('single keys move, search and help; none of them while typing', {}, async (page) => {
    const [first, second] = [await make('Second in the list'), await make('First in the list')];
    await say(second.id, 'a', 'b');
    await enter(page, server);
    await openConversation(page, second.id);
    await page.getByTestId('message').first().waitFor();
    await page.keyboard.press('j');
    const focused = () => page.evaluate(() => document.activeElement?.dataset.role);
    assert.equal(await focused(), 'user');
    await page.keyboard.press('j');
    assert.equal(await focused(), 'assistant');
    await page.keyboard.press('k');
    assert.equal(await focused(), 'user');
    await page.keyboard.press(']');
    await until(async () => page.url().includes(first.id), 'the next conversation is open');
    await page.keyboard.press('[');
    await until(async () => page.url().includes(second.id), 'the one before it is open');
    await page.keyboard.press('?');
    await page.getByTestId('keys').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Escape');
    await until(async () => (await page.getByTestId('keys').count()) === 0, 'Esc closes it');
    await page.keyboard.press('Control+k');
    assert.equal(await page.evaluate(() => document.activeElement?.dataset.testid), 'search-field');
    await page.keyboard.press('n');
    assert.equal(await page.getByTestId('search-field').inputValue(), 'n');
  });

  inPage('the drawer holds the focus and gives it back', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }, async (page) => {
    const { id } = await make('In the drawer');
    await enter(page, server);
    await openConversation(page, id);
    await page.getByTestId('open-drawer').click();
    await until(() => page.evaluate(() => document.activeElement?.closest('[data-testid="rail"]') !== null), 'the focus is inside');
    const behind = () => page.evaluate(() => document.activeElement?.closest('main') !== null);
    for (let step = 0; step < 5; step += 1) {
      await page.keyboard.press('Shift+Tab');
      assert.ok(!(await behind()), 'the focus never reaches what lies behind');
    }
    await page.evaluate(() => document.querySelector('main button')?.focus());
    assert.ok(!(await behind()), 'not even when it is sent there');
    await page.keyboard.press('Escape');
    await until(() => page.evaluate(() => document.activeElement?.dataset.testid === 'open-drawer'), 'the focus is back');
    const small = await page.evaluate(() =>
      [...document.querySelectorAll('main button, main select, main textarea')]
        .map((one) => [one.getAttribute('aria-label') ?? one.tagName, one.getBoundingClientRect()])
        .filter(([, box]) => box.width > 0 && (box.height < 36 || box.width < 36))
        .map(([name]) => name),
    );
    assert.deepEqual(small.filter((name) => name !== 'New message'), []);
  });

  inPage('language and theme can be chosen, and stay', {}, async (page) => {
    await enter(page, server);
    const lang = () => page.evaluate(() => document.documentElement.lang);
    assert.equal(await lang(), 'en');
    await page.getByTestId('settings').click();
    await page.getByRole('menuitemradio', { name: '简体中文' }).click();
    await until(async () => (await page.getByTestId('new').innerText()).trim() === '新建会话', 'the page speaks Chinese');
    await page.getByTestId('settings').click();
    await page.getByRole('menuitemradio', { name: '主题: 深色' }).click();
    await page.reload();
    await page.getByTestId('rail').waitFor();
    assert.equal(await lang(), 'zh-CN');
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  });
});
