import { expect, test } from 'vitest';
import { oneLine, visible } from './text';

test('control characters are shown, line breaks and tabs are kept', () => {
  expect(visible('a\0b\u001bc\n\td\u007f')).toBe('a␀b␛c\n\td␡');
});

test('a summary is one short line', () => {
  expect(oneLine('a\n  b\tc')).toBe('a b c');
  expect(oneLine('字'.repeat(100), 10)).toBe(`${'字'.repeat(10)}…`);
});
