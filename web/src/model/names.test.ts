import { expect, test } from 'vitest';
import { forbiddenIn, nameProblem } from './names';

test('a name is counted as readers count', () => {
  expect(nameProblem('  项目技术讨论  ')).toBeUndefined();
  expect(nameProblem('👩‍👩‍👧‍👦'.repeat(50))).toBeUndefined();
  expect(nameProblem('👩‍👩‍👧‍👦'.repeat(51))).toBe('name_length');
  expect(nameProblem('名'.repeat(50))).toBeUndefined();
  expect(nameProblem('名'.repeat(51))).toBe('name_length');
});

test('nothing but white space is no name', () => {
  for (const name of ['', ' \t', '\u3000']) expect(nameProblem(name)).toBe('name_empty');
});

test('characters that file systems refuse are refused', () => {
  for (const character of '/\\:*?"<>|\0\u0007') expect(nameProblem(`a${character}b`)).toBe('name_characters');
});

test('characters that the current name has may stay', () => {
  expect(nameProblem('Trip 10:45', 'New conversation 10:30')).toBeUndefined();
  expect(nameProblem('Trip/10:45', 'New conversation 10:30')).toBe('name_characters');
  expect(forbiddenIn('Trip/10:45', 'New conversation 10:30')).toBe('/');
});

test('length is told before characters, as the server does', () => {
  expect(nameProblem('/'.repeat(51))).toBe('name_length');
});
