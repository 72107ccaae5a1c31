import { expect, test } from 'vitest';
import { oneLine, piecesOf, visible } from './text';

test('blank lines part paragraphs, single line breaks stay', () => {
  expect(piecesOf('one\ntwo\n\n \nthree\n')).toEqual([
    { kind: 'paragraph', text: 'one\ntwo' },
    { kind: 'paragraph', text: 'three' },
  ]);
});

test('fences hold code with its language and its blank lines', () => {
  expect(piecesOf('see\n```rust title=x\nfn a() {\n\n}\n```\nend')).toEqual([
    { kind: 'paragraph', text: 'see' },
    { kind: 'code', language: 'rust', code: 'fn a() {\n\n}' },
    { kind: 'paragraph', text: 'end' },
  ]);
});

test('a shorter fence inside a longer one is code', () => {
  expect(piecesOf('````md\n```js\n1\n```\n````')).toEqual([{ kind: 'code', language: 'md', code: '```js\n1\n```' }]);
});

test('a fence that is still being written reaches to the end', () => {
  expect(piecesOf('```py\nprint(1)')).toEqual([{ kind: 'code', language: 'py', code: 'print(1)' }]);
});

test('the indent of a first line stays', () => {
  expect(piecesOf('\n  indented')).toEqual([{ kind: 'paragraph', text: '  indented' }]);
});

test('markup is words', () => {
  expect(piecesOf('<img src=x onerror=alert(1)>')).toEqual([{ kind: 'paragraph', text: '<img src=x onerror=alert(1)>' }]);
});

test('control characters are shown, line breaks and tabs are kept', () => {
  expect(visible('a\0b\u001bc\n\td\u007f')).toBe('a␀b␛c\n\td␡');
});

test('a summary is one short line', () => {
  expect(oneLine('a\n  b\tc')).toBe('a b c');
  expect(oneLine('字'.repeat(100), 10)).toBe(`${'字'.repeat(10)}…`);
});
