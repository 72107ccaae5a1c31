import { expect, test } from 'vitest';
import { mayBeWrong, wrongOf } from './query';

test('plain words need no check', () => {
  expect(['hello world', '悬空 检索', 'self-made', 'ORDER', '🎉'].filter(mayBeWrong)).toEqual([]);
  const doubtful = ['"open', '“开', 'role:', '标签：x', 'a OR', 'OR', '(a', 'a)', '（a', 'a|', '-', 'x'.repeat(1001)];
  expect(doubtful.filter((text) => !mayBeWrong(text))).toEqual([]);
});

test('what the server says is a text of the page', () => {
  const key = (detail: string): unknown[] => [wrongOf(detail).key, wrongOf(detail).values];
  expect(key('this quotation mark is not closed, at character 4')).toEqual(['query.quote', {}]);
  expect(key('kind: takes chat, agent, roleplay, group or channel, at character 5')).toEqual([
    'query.value',
    { key: 'kind', expected: 'chat, agent, roleplay, group or channel' },
  ]);
  expect(key('after: takes a date such as 2026, 7d or yesterday, at character 6')).toEqual([
    'query.date',
    { key: 'after', expected: '2026, 7d or yesterday' },
  ]);
  expect(key('a query has at most 64 words, phrases and filters, at character 9')).toEqual(['query.terms', { n: '64' }]);
  expect(key('something new, at character 3')).toEqual(['query.other', { detail: 'something new' }]);
});
