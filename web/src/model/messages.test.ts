import { expect, test } from 'vitest';
import type { BranchInfo, Message } from '../api';
import { atForks, isEditable, isJoined, withWords, wordsOf } from './messages';

const message = (id: string, parts: Message['parts'] = [{ type: 'text', text: id }]): Message => ({
  id,
  role: 'user',
  time: '1970-01-01T00:00:00Z',
  status: 'complete',
  parts,
  position: 1,
});
const branch = (fork: string | null, reason: BranchInfo['reason']): BranchInfo => ({
  id: `br_${fork}`,
  parent: null,
  fork,
  own_in_ranges: 0,
  ranges: [],
  own_messages: 1,
  is_head: false,
  reason,
});
const path = ['a', 'b', 'c'].map((id) => message(id));

test('only messages behind a fork may have alternatives', () => {
  expect(atForks(path, [branch(null, 'start'), branch('b', 'retry')], true)).toEqual(['c']);
  expect(atForks(path, [branch(null, 'start'), branch(null, 'edit')], true)).toEqual(['a']);
});

test('the first loaded message is the first of the path only if nothing stands before it', () => {
  expect(atForks(path, [branch(null, 'edit')], false)).toEqual([]);
});

test('what could not be sent is no alternative', () => {
  expect(atForks(path, [branch('a', 'withdrawal')], true)).toEqual([]);
});

test('editing changes the words and nothing else', () => {
  const parts = [{ type: 'reasoning', text: 'hm' }, { type: 'text', text: 'old', cache: 1 }];
  expect(withWords(parts, 'new')).toEqual([{ type: 'reasoning', text: 'hm' }, { type: 'text', text: 'new', cache: 1 }]);
  expect(wordsOf(message('x', parts))).toBe('old');
  expect(isEditable(message('x', parts))).toBe(true);
  expect(isEditable(message('x', [{ type: 'tool_call', id: '1', name: 'f', input: {} }]))).toBe(false);
});

test('each change of role has a header, and so has the answer after a tool', () => {
  const said = ['user', 'assistant', 'tool', 'tool', 'assistant', 'assistant'].map((role) => ({ ...message(role), role }));
  expect(said.map((one, index) => isJoined(one, said[index - 1]))).toEqual([false, false, false, true, false, false]);
});
