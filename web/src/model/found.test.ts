import { expect, test } from 'vitest';
import { cutAt, piecesOf, placesIn, wordsOf } from './found';

const shown = (text: string, ...highlights: [number, number][]): string =>
  piecesOf({ text, highlights })
    .map((piece) => (piece.found ? `[${piece.text}]` : piece.text))
    .join('');

test('highlights count characters, not places of a string', () => {
  expect(shown('🎉👩‍👩‍👧 party 悬空 end', [7, 12], [13, 15])).toBe('🎉👩‍👩‍👧 [party] [悬空] end');
  expect(shown('plain', [0, 2], [2, 5])).toBe('[pl][ain]');
  expect(shown('nothing')).toBe('nothing');
});

test('highlights that reach too far, backward or into each other lose and repeat nothing', () => {
  for (const highlights of [[[2, 99]], [[3, 1]], [[0, 3], [1, 4]], [[9, 12]]] as [number, number][][]) {
    const pieces = piecesOf({ text: 'ab🎉de', highlights });
    expect(pieces.map((piece) => piece.text).join('')).toBe('ab🎉de');
  }
});

test('a query is cut where it is wrong, behind an emoji too', () => {
  expect(cutAt('🎉 "open', 2)).toEqual(['🎉 ', '"open']);
  expect(cutAt('role:', 5)).toEqual(['role:', '']);
});

const placed = (snippet: string, highlights: [number, number][], text: string): string[] =>
  placesIn(text, wordsOf({ text: snippet, highlights })).map(([start, end]) => `${start} ${text.slice(start, end)}`);

test('a whole word is not found inside another, the beginning of one is', () => {
  expect(placed('run in it', [[4, 6]], 'In, inside, begin, in')).toEqual(['0 In', '19 in']);
  expect(placed('running', [[0, 3]], 'Run, overrun, running')).toEqual(['0 Run', '14 run']);
});

test('Chinese is found wherever it stands', () => {
  expect(placed('指针悬空了', [[2, 4]], '这个指针悬空，那个也悬空')).toEqual(['4 悬空', '10 悬空']);
  expect(placed('用Rust写', [[1, 5]], '我用Rust写的')).toEqual(['2 Rust']);
});

test('words are found where the marks of Markdown are gone', () => {
  expect(placed('a `watch` channel', [[3, 17]], 'a watch channel')).toEqual(['2 watch', '8 channel']);
});

test('places do not overlap, and letters whose small form is longer move nothing', () => {
  expect(placesIn('abab', [{ text: 'abab', begins: false, ends: false }, { text: 'ba', begins: false, ends: false }])).toEqual([[0, 4]]);
  expect(placed('x', [[0, 1]], 'İ x')).toEqual(['2 x']);
  expect(placed('x', [], 'x')).toEqual([]);
});
