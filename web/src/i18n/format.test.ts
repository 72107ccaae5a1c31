import { expect, test } from 'vitest';
import { en } from './en';
import { format, localeFor, type Text } from './format';
import { zh } from './zh';

const placesOf = (text: Text): string[] => {
  const one = typeof text === 'string' ? text : text.other;
  return [...one.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '').sort();
};

test('both languages have the same keys', () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
});

test('both languages fill the same places', () => {
  for (const [key, text] of Object.entries(en)) expect([key, placesOf(zh[key as keyof typeof zh])]).toEqual([key, placesOf(text)]);
});

test('no text is empty', () => {
  for (const texts of [en, zh]) {
    for (const text of Object.values(texts)) expect(typeof text === 'string' ? text : text.other).not.toBe('');
  }
});

test('the texts of the design stand to the letter', () => {
  expect(zh['name.name_empty']).toBe('会话名称不能为空');
  expect(zh['name.name_length']).toBe('会话名称长度应在 1-50 个字符之间');
  expect(zh['name.name_characters']).toBe('会话名称不能包含特殊字符');
  expect(zh['conversation.renamed']).toBe('会话已重命名');
  expect(format(zh['conversation.purgeConfirm'], { title: '天气' }, 'zh-CN')).toBe('确定删除会话「天气」吗？此操作不可撤销。');
  expect(zh['conversation.clearConfirm']).toBe('确定清空当前会话的所有消息吗？');
  expect(zh['composer.failed']).toBe('消息发送失败，已恢复到输入框');
  expect(format(zh['problem.connection'], { detail: 'x' }, 'zh-CN')).toBe('🔌 无法连接后端：x');
  expect(format(zh['problem.answer'], { detail: 'x' }, 'zh-CN')).toBe('❌ x');
  expect(zh['problem.timeout']).toBe('⏱️ 请求超时，请检查网络连接');
  expect(format(zh['list.newName'], { time: '12-05 23:10' }, 'zh-CN')).toBe('新会话 12-05 23:10');
});

test('plural forms follow the language', () => {
  expect(format(en['list.messages'], { n: 1 }, 'en')).toBe('1 message');
  expect(format(en['list.messages'], { n: 1200 }, 'en')).toBe('1,200 messages');
  expect(format(zh['list.messages'], { n: 1 }, 'zh-CN')).toBe('1条');
});

test('a value is never read as a place', () => {
  expect(format('{title}!', { title: '{n}', n: 3 }, 'en')).toBe('{n}!');
});

test('every Chinese gets Chinese, everybody else English', () => {
  expect(['zh', 'zh-TW', 'ZH-Hans', 'en-GB', 'de', null].map(localeFor)).toEqual(['zh-CN', 'zh-CN', 'zh-CN', 'en', 'en', 'en']);
});
