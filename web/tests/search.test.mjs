// Search as people use it: what is found, how it is shown, and where one lands.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe } from 'node:test';
import { enter, openConversation, REFUSED, until, withServer } from './server.mjs';

const { server, inPage, make, say } = withServer();
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Types into the box and waits for the answer to exactly that. */
async function look(page, text) {
  await page.getByTestId('search-field').fill(text);
  await until(async () => (await page.getByTestId('hits').getAttribute('aria-busy', { timeout: 5000 })) === 'false', `“${text}” is answered`);
}

const hitsOf = (page, id) => page.locator(`[data-testid="hit"][data-conversation="${id}"]`);

/** Says whether a message lies within what is seen of the transcript. */
const inSight = (page, id) =>
  page.evaluate((id) => {
    const box = document.querySelector(`[data-message-id="${id}"]`)?.getBoundingClientRect();
    const frame = document.querySelector('[data-testid="transcript"]')?.getBoundingClientRect();
    return box !== undefined && frame !== undefined && box.top >= frame.top - 1 && box.top < frame.bottom - 20;
  }, id);

/** The words that are painted, those of the chosen message and of the others. */
const painted = (page, name) => page.evaluate((name) => [...(CSS.highlights.get(name) ?? [])].map(String), name);

describe('what is found', () => {
  for (const [text, words] of [['悬空', ['悬空']], ['检索', ['检索']], ['dangling', ['dangling']]]) {
    inPage(`“${text}” is found as one types, and marked in its snippet and in its message`, {}, async (page) => {
      const { id } = await make(`Found by ${text.length}`);
      const [, answer] = await say(id, 'something else', `🎉👩‍👩‍👧 emoji first, then 这里说到${text}指针 and more`);
      await enter(page, server);
      await look(page, text);
      const hit = hitsOf(page, id).first();
      assert.deepEqual(await hit.locator('mark').allInnerTexts(), words);
      assert.match(await hit.innerText(), /Found by \d[\s\S]*Assistant[\s\S]*🎉👩‍👩‍👧 emoji first/);
      await hit.click();
      await until(() => inSight(page, answer), 'the message is in sight');
      await until(async () => (await painted(page, 'found-here')).join() === words.join(), 'the words are painted in the message');
      assert.ok(page.url().endsWith(`/c/${id}/m/${answer}`), page.url());
      await page.getByTestId('search-clear').click();
      await until(async () => (await painted(page, 'found-here')).length === 0, 'nothing is painted when the search is closed');
      assert.equal(await page.evaluate(() => document.activeElement?.dataset.testid), 'search-field');
    });
  }

  inPage('a title opens its conversation; archived and trashed ones say so', {}, async (page) => {
    const [kept, archived, trashed] = [await make('Zebra kept'), await make('Zebra archived'), await make('Zebra trashed')];
    await say(kept.id, 'stripes');
    await server.call('PATCH', `/conversations/${archived.id}`, { status: 'archived' });
    await server.call('DELETE', `/conversations/${trashed.id}`);
    await enter(page, server);
    await look(page, 'zeb');
    assert.match(await hitsOf(page, archived.id).innerText(), /Archived/);
    assert.equal(await hitsOf(page, trashed.id).count(), 0);
    await page.getByTestId('scope-trashed').click();
    await until(async () => (await hitsOf(page, trashed.id).count()) === 1, 'the trash is looked at');
    assert.match(await hitsOf(page, trashed.id).innerText(), /Trash/);
    await hitsOf(page, kept.id).click();
    await until(async () => (await page.getByTestId('title').innerText()) === 'Zebra kept', 'it is open');
    assert.ok(page.url().endsWith(`/c/${kept.id}`), page.url());
  });

  inPage('what a tool answered is opened where it was found, also what was thought if one asks for it', {}, async (page) => {
    const { id } = await make('Folded');
    const parts = [
      { type: 'reasoning', text: 'the quokka is a marsupial' },
      { type: 'tool_call', id: 'c', name: 'look', input: { animal: 'wallaby' } },
      { type: 'tool_result', call: 'c', content: 'numbat seen' },
    ];
    await server.call('POST', `/conversations/${id}/messages`, { messages: [{ role: 'assistant', parts }] });
    await enter(page, server);
    await look(page, 'numbat');
    await hitsOf(page, id).click();
    await until(async () => (await painted(page, 'found-here')).includes('numbat'), 'the result is open and painted');
    await page.getByTestId('search-field').fill('quokka');
    await page.getByTestId('search-nothing').waitFor();
    await page.getByTestId('look-reasoning').click();
    await hitsOf(page, id).click();
    await until(async () => (await painted(page, 'found-here')).includes('quokka'), 'the thought is open and painted');
    assert.equal(await page.getByTestId('scope-reasoning').getAttribute('aria-pressed'), 'true');
  });

  inPage('text that looks like markup is text', { allow: REFUSED }, async (page) => {
    const { id } = await make('<img src=x onerror=alert(1)> okapi');
    await say(id, '<script>alert(1)</script> <mark>okapi</mark> <b onclick=x>');
    await enter(page, server);
    await look(page, 'okapi');
    assert.deepEqual(await page.getByTestId('hits').locator('mark').allInnerTexts(), ['okapi', 'okapi']);
    assert.match(await hitsOf(page, id).first().innerText(), /<script>alert\(1\)<\/script> <mark>okapi<\/mark>/);
    assert.equal(await page.getByTestId('hits').locator('img, script, b').count(), 0);
    await page.getByTestId('search-field').fill('<img src=x onerror=alert(1)>zzz "');
    await page.getByTestId('search-problem').waitFor();
  });

  inPage('More reads the next page, and the order can be changed', {}, async (page) => {
    const { id } = await make('Many');
    await say(id, ...Array.from({ length: 45 }, (_, index) => `ibex number ${index}`));
    await enter(page, server);
    await look(page, 'ibex');
    const hits = page.getByTestId('hit');
    assert.equal(await hits.count(), 20);
    assert.match(await page.getByTestId('search-count').innerText(), /More than 20 results/);
    assert.match(await page.getByTestId('search-took').innerText(), /^[\d.,]+ ms$/);
    assert.match(await hits.first().innerText(), /number 44/);
    await page.getByTestId('search-more').click();
    await until(async () => (await hits.count()) === 40, 'the second page is there');
    await page.getByTestId('search-more').click();
    await until(async () => (await hits.count()) === 45, 'all are there');
    assert.match(await page.getByTestId('search-said').textContent(), /^45 results$/);
    assert.equal(await page.getByTestId('search-more').count(), 0);
    const asked = page.waitForRequest((request) => request.url().includes('order=relevance'));
    await page.getByTestId('order-relevance').click();
    await asked;
    await until(async () => (await hits.count()) === 20, 'the first page by relevance');
  });

  inPage('an index that is behind is said quietly', {}, async (page) => {
    await page.route('**/api/v1/search?*', async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, coverage: { ...answer.coverage, complete: false, waiting: 1234 } } });
    });
    const { id } = await make('Behind');
    await say(id, 'gnu');
    await enter(page, server);
    await look(page, 'gnu');
    assert.match(await page.getByTestId('search-behind').innerText(), /1,234 messages are not searchable yet/);
  });
});

describe('a query that cannot be read', () => {
  for (const [locale, wrong] of [
    ['en-US', [['tapir "tap', /This quotation mark is not closed.*at character 7/], ['tapir kind:cat', /kind: takes chat, agent.*at character 12/], ['(tapir', /parenthesis is not closed/]]],
    ['zh-CN', [['tapir "tap', /这个引号没有闭合.*第 7 个字符/], ['tapir kind:cat', /kind: 只能是 chat/], ['tapir after:soon', /日期，例如 2026/], ['tapir)', /没有对应的左括号/], ['tapir OR', /OR 两边都需要有词/], ['tapir role:', /缺少值/], [`tapir ${'（'.repeat(20)}`, /最多 8 层/]]],
  ]) {
    inPage(`is told under the box with its place, and the last hits stay: ${locale}`, { locale, allow: REFUSED }, async (page) => {
      const { id } = await make('Tapir');
      await say(id, 'a tapir');
      await enter(page, server);
      for (const [text, expected] of wrong) {
        await look(page, 'tapir');
        assert.equal(await page.getByTestId('search-problem').count(), 0);
        await page.getByTestId('search-field').fill(text);
        await page.getByTestId('search-problem').waitFor();
        assert.match((await page.getByTestId('search-problem').innerText()).replaceAll('\n', ' '), expected);
        assert.ok((await hitsOf(page, id).count()) > 0, `hits stay for ${text}`);
        assert.equal(await page.getByTestId('search-field').getAttribute('aria-invalid'), 'true');
        assert.equal(await page.locator('[role="alert"]').count(), 0);
      }
      await look(page, 'tapir');
      await until(async () => (await page.getByTestId('search-problem').count()) === 0, 'a good query has no problem');
    });
  }

  inPage('the place counts characters, behind an emoji too', { allow: REFUSED }, async (page) => {
    await enter(page, server);
    await page.getByTestId('search-field').fill('🎉🎉 "x');
    await page.getByTestId('search-problem').waitFor();
    assert.equal(await page.getByTestId('search-problem').locator('mark').innerText(), '"x');
  });

  inPage('the help has every filter, in both languages', {}, async (page) => {
    await enter(page, server);
    await page.getByTestId('search-help').click();
    const help = page.getByTestId('search-help-dialog');
    for (const key of ['role:', 'kind:', 'tag:', 'project:', 'model:', 'tool:', 'before:', 'after:', 'in:title', 'has:', 'meta.']) {
      assert.ok((await help.innerText()).includes(key), key);
    }
    await page.keyboard.press('Escape');
    await until(async () => (await help.count()) === 0, 'Esc closes it');
    await page.getByTestId('settings').click();
    await page.getByRole('menuitemradio', { name: '简体中文' }).click();
    await page.getByTestId('search-help').click();
    assert.match(await help.innerText(), /搜索方法[\s\S]*内存 泄漏/);
  });
});

describe('where one lands', () => {
  inPage('a message in the middle of 2,000 is in sight, and so is the one after a second choice', {}, async (page) => {
    const { id } = await make('Long and searched');
    const ids = [];
    for (let from = 0; from < 2000; from += 500) {
      const texts = Array.from({ length: 500 }, (_, index) =>
        (from + index) % 1000 === 7 ? `the kiwi of ${from + index}` : `Message ${from + index}\n\n${'more '.repeat((from + index) % 40)}`,
      );
      ids.push(...(await say(id, ...texts)));
    }
    await enter(page, server);
    await look(page, 'kiwi');
    assert.equal(await hitsOf(page, id).count(), 2);
    for (const [index, message] of [[0, ids[1007]], [1, ids[7]], [0, ids[1007]]]) {
      await hitsOf(page, id).nth(index).click();
      await until(() => inSight(page, message), 'the message is in sight');
      await until(async () => (await painted(page, 'found-here')).join() === 'kiwi', 'its word is painted');
      await page.waitForTimeout(300);
      assert.ok(await inSight(page, message), 'and it stays in sight');
    }
    // Scrolled away and chosen again: back to it.
    await page.getByTestId('transcript').evaluate((one) => (one.scrollTop = 0));
    await hitsOf(page, id).first().click();
    await until(() => inSight(page, ids[1007]), 'it is in sight again');
  });

  inPage('words far down in a long message are scrolled to', {}, async (page) => {
    const { id } = await make('One long message');
    const code = Array.from({ length: 200 }, (_, index) => `line ${index}`).join('\n');
    await say(id, 'start', `${'filler line\n\n'.repeat(150)}here the axolotl hides\n\n${'more\n\n'.repeat(50)}\n\`\`\`\n${code}\ncapybara\n\`\`\`\n`, ...Array(10).fill('end'));
    await enter(page, server);
    const wordInSight = (name) =>
      page.evaluate((name) => {
        const [range] = CSS.highlights.get(name) ?? [];
        const box = range?.getBoundingClientRect();
        return box !== undefined && box.top > 50 && box.bottom < innerHeight - 100;
      }, name);
    for (const word of ['axolotl', 'capybara']) {
      await look(page, word);
      await hitsOf(page, id).click();
      await until(() => wordInSight('found-here'), `${word} is in sight`);
    }
  });

  inPage('a message on another branch is shown on its branch, and nothing is changed by looking', {}, async (page) => {
    const { id } = await make('Branched');
    const [, answer] = await say(id, 'question', 'the old narwhal answer', 'thanks', ...Array.from({ length: 80 }, (_, index) => `old ${index}`));
    await server.call('POST', `/conversations/${id}/regenerate`, { answer, with: { role: 'assistant', text: 'a new one' } });
    const version = (await server.call('GET', `/conversations/${id}`)).version;
    await enter(page, server);
    await page.getByTestId('search-field').fill('narwhal');
    await page.getByTestId('search-nothing').waitFor();
    await page.getByTestId('look-branches').click();
    const hit = hitsOf(page, id);
    await hit.waitFor();
    assert.match(await hit.innerText(), /Other branch/);
    await hit.click();
    await until(() => inSight(page, answer), 'the message is shown');
    assert.match(await page.getByTestId('transcript').innerText(), /question[\s\S]*old narwhal answer[\s\S]*thanks/);
    await page.getByTestId('elsewhere').waitFor();
    assert.equal(await page.getByTestId('message-edit').count(), 0, 'nothing is edited on a branch that is only looked at');
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press('End');
    await page.getByText('old 79').waitFor();
    await page.keyboard.press('Home');
    await until(() => inSight(page, answer), 'both ends are those of the branch');
    assert.equal((await server.call('GET', `/conversations/${id}`)).version, version, 'nothing was changed');
    await say(id, 'said on the shown path');
    await page.waitForTimeout(500);
    assert.doesNotMatch(await page.getByTestId('transcript').innerText(), /said on the shown path/);
    await page.getByTestId('leave-branch').click();
    await page.getByText('said on the shown path').waitFor();
    assert.match(await page.getByTestId('transcript').innerText(), /a new one/);
    await hit.click();
    await until(() => inSight(page, answer), 'the message is shown again');
    await page.getByTestId('show-branch').click();
    await until(async () => (await page.getByTestId('elsewhere').count()) === 0, 'it is the shown one now');
    await until(() => inSight(page, answer), 'and it stays');
  });

  inPage('on a phone the drawer gives way to the message', PHONE, async (page) => {
    const { id } = await make('Phone search');
    const ids = await say(id, ...Array.from({ length: 80 }, (_, index) => (index === 40 ? 'the ocelot' : `m ${index}`)));
    await enter(page, server);
    await openConversation(page, id);
    if ((await page.locator('nav.shown').count()) === 0) await page.getByTestId('open-drawer').tap();
    await look(page, 'ocelot');
    await hitsOf(page, id).tap();
    await until(async () => (await page.locator('nav.shown').count()) === 0, 'the drawer is closed');
    await until(() => inSight(page, ids[40]), 'the message is in sight');
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the screen');
    await page.getByTestId('open-drawer').tap();
    assert.equal(await page.getByTestId('search-field').inputValue(), 'ocelot', 'the search is still there');
  });
});

describe('the keyboard', () => {
  inPage('finds, chooses and comes back without a mouse', {}, async (page) => {
    const { id } = await make('By keys');
    const ids = await say(id, ...Array.from({ length: 30 }, (_, index) => `lemur ${index}`));
    await enter(page, server);
    await page.keyboard.press('/');
    await page.keyboard.type('lemur');
    const field = page.getByTestId('search-field');
    await page.getByTestId('hits').waitFor();
    assert.equal(await field.getAttribute('aria-expanded'), 'true');
    assert.equal(await field.getAttribute('aria-activedescendant'), null);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const active = () =>
      page.evaluate(() => {
        const name = document.querySelector('[data-testid="search-field"]').getAttribute('aria-activedescendant');
        return document.querySelector(`#${name}[role="option"][aria-selected="true"]`)?.dataset.message;
      });
    assert.equal(await active(), ids[28]);
    await page.keyboard.press('Enter');
    await until(() => inSight(page, ids[28]), 'the second hit is shown');
    assert.equal(await page.evaluate(() => document.activeElement?.dataset.testid), 'search-field', 'one can go on');
    for (let step = 0; step < 18; step += 1) await page.keyboard.press('ArrowDown');
    assert.equal(await active(), ids[10]);
    assert.ok(await page.evaluate(() => {
      const box = document.querySelector('[aria-selected="true"]').getBoundingClientRect();
      const frame = document.querySelector('[data-testid="hits"]').getBoundingClientRect();
      return box.top >= frame.top && box.bottom <= frame.bottom;
    }), 'the chosen hit is in sight');
    await page.keyboard.press('ArrowDown');
    await until(async () => (await active()) === ids[9], 'the arrow leads into the next page');
    await page.keyboard.press('Escape');
    assert.equal(await field.inputValue(), '');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    assert.equal(await page.evaluate(() => document.activeElement?.dataset.testid), 'search-field');
  });

  inPage('nothing is sent while a word is composed, and Enter that ends it chooses nothing', {}, async (page) => {
    const { id } = await make('悬空的指针');
    await enter(page, server);
    const before = page.url();
    const asked = [];
    page.on('request', (request) => request.url().includes('/search?') && asked.push(new URL(request.url()).searchParams.get('q')));
    await page.getByTestId('search-field').focus();
    await page.evaluate(() => {
      const field = document.querySelector('[data-testid="search-field"]');
      field.dispatchEvent(new CompositionEvent('compositionstart', { bubbles: true }));
      for (const text of ['x', 'xu', 'xuan k', 'xuan kong']) {
        field.value = text;
        field.dispatchEvent(new InputEvent('input', { bubbles: true, isComposing: true, data: text, inputType: 'insertCompositionText' }));
      }
      field.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, key: 'Enter', isComposing: true, keyCode: 229 }));
    });
    await page.waitForTimeout(500);
    assert.deepEqual(asked, []);
    await page.evaluate(() => {
      const field = document.querySelector('[data-testid="search-field"]');
      field.value = '悬空';
      field.dispatchEvent(new InputEvent('input', { bubbles: true, isComposing: true, data: '悬空', inputType: 'insertCompositionText' }));
      field.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true, data: '悬空' }));
    });
    await hitsOf(page, id).waitFor();
    assert.deepEqual(asked, ['悬空']);
    assert.equal(page.url(), before);
  });

  inPage('an answer that comes late does not replace a newer one', {}, async (page) => {
    const [slow, fast] = [await make('Slowpoke'), await make('Fastlane')];
    await enter(page, server);
    let free;
    const held = new Promise((resolve) => (free = resolve));
    await page.route('**/api/v1/search?q=slowpoke*', async (route) => {
      await held;
      await route.continue().catch(() => {});
    });
    const asked = page.waitForRequest(/search\?q=slowpoke/);
    await page.getByTestId('search-field').fill('slowpoke');
    await asked;
    await page.getByTestId('search-field').fill('fastlane');
    await hitsOf(page, fast.id).waitFor();
    free();
    await page.waitForTimeout(400);
    assert.equal(await hitsOf(page, slow.id).count(), 0);
    assert.equal(await hitsOf(page, fast.id).count(), 1);
  });
});

describe('finding in a conversation', () => {
  inPage('goes to the next and the previous hit and says which it is', {}, async (page) => {
    const { id } = await make('Find puffin');
    const ids = await say(id, ...Array.from({ length: 200 }, (_, index) => (index % 20 === 5 ? `puffin ${index}` : `m ${index}`)));
    const places = [5, 25, 45, 65, 85, 105, 125, 145, 165, 185].map((index) => ids[index]);
    await enter(page, server);
    await openConversation(page, id);
    await page.getByTestId('message').first().waitFor();
    await page.keyboard.press('Control+f');
    assert.equal(await page.evaluate(() => document.activeElement?.dataset.testid), 'find-field');
    await page.keyboard.type('puffin');
    const place = page.getByTestId('find-place');
    const at = async (number) => {
      await until(async () => (await place.innerText()) === `${number} of 10`, `it is ${number} of 10, not ${await place.innerText()}`);
      await until(() => inSight(page, places[number - 1]), `hit ${number} is in sight`);
    };
    await at(10);
    await page.getByTestId('find-previous').click();
    await at(9);
    await page.getByTestId('find-field').press('Shift+Enter');
    await at(8);
    await page.getByTestId('find-field').press('Enter');
    await at(9);
    await page.getByTestId('find-next').click();
    await page.getByTestId('find-next').click();
    await at(1);
    await until(async () => (await painted(page, 'found-here')).join() === 'puffin', 'the chosen one is painted');
    await until(async () => (await painted(page, 'found')).length > 0, 'the others are painted, too');
    await page.getByTestId('find-field').fill('no such thing');
    await until(async () => (await place.innerText()) === 'No results', 'it says so');
    await page.keyboard.press('Escape');
    await until(async () => (await page.getByTestId('find-bar').count()) === 0, 'Esc closes it');
    assert.deepEqual([await painted(page, 'found'), await painted(page, 'found-here')], [[], []]);
  });

  inPage('is offered by the menu, speaks Chinese, and goes when another conversation opens', { locale: 'zh-CN' }, async (page) => {
    const [one, other] = [await make('查找一'), await make('查找二')];
    await say(one.id, '检索甲', '无关', '检索乙');
    await say(other.id, '检索丙');
    await enter(page, server);
    await openConversation(page, one.id);
    await page.getByTestId('header-menu').click();
    await page.getByRole('menuitem', { name: '在当前会话中查找' }).click();
    await page.getByTestId('find-field').fill('检索');
    await until(async () => (await page.getByTestId('find-place').innerText()) === '第 2 / 2 处', 'two of two');
    await openConversation(page, other.id);
    await until(async () => (await page.getByTestId('find-bar').count()) === 0, 'the bar is gone');
    await look(page, '检索');
    assert.ok((await page.getByTestId('hit').count()) >= 3);
    await page.getByTestId('scope-here').click();
    await until(async () => (await page.getByTestId('hit').count()) === 1, 'only this conversation');
    await page.getByTestId('search-field').fill('检索甲');
    await page.getByTestId('look-everywhere').click();
    await hitsOf(page, one.id).waitFor();
    assert.match(await page.getByTestId('search-said').textContent(), /^\d+ 条结果$/);
  });
});

describe('access', () => {
  for (const locale of ['en-US', 'zh-CN']) {
    for (const colorScheme of ['light', 'dark']) {
      for (const narrow of [false, true]) {
        inPage(`axe finds nothing: ${locale}, ${colorScheme}, ${narrow ? 360 : 1440} px`, { locale, colorScheme, bypassCSP: true, allow: REFUSED, ...(narrow ? PHONE : {}) }, async (page) => {
          const { id } = await make('Axe 会话');
          await say(id, ...Array.from({ length: 30 }, (_, index) => `axe 检索 ${index} \`code\``));
          await enter(page, server);
          await openConversation(page, id);
          const found = [];
          const check = async (where) => {
            await page.waitForTimeout(300);
            await page.evaluate(axe);
            const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
            for (const one of violations) found.push(...one.nodes.map((node) => `${where}: ${one.id} ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`));
          };
          const drawer = async () => narrow && (await page.locator('nav.shown').count()) === 0 && page.getByTestId('open-drawer').tap();
          await drawer();
          await look(page, '检索');
          await page.getByTestId('search-field').press('ArrowDown');
          await check('hits');
          await page.getByTestId('search-field').press('Enter');
          await check('chosen');
          await drawer();
          await page.getByTestId('search-field').fill('检索 "');
          await page.getByTestId('search-problem').waitFor();
          await check('problem');
          await page.getByTestId('search-field').fill('qqqqzz');
          await page.getByTestId('search-nothing').waitFor();
          await check('nothing');
          await page.getByTestId('search-help').click();
          await check('help');
          await page.keyboard.press('Escape');
          await page.getByTestId('search-field').fill('');
          if (narrow) await page.keyboard.press('Escape');
          await page.keyboard.press('Control+f');
          await page.getByTestId('find-field').fill('axe');
          await until(async () => (await page.getByTestId('find-place').innerText()) !== '', 'it is counted');
          await check('find');
          assert.deepEqual(found, []);
        });
      }
    }
  }
});
