// Splits snippets at their highlights, and finds the highlighted words in displayed text.

import type { Snippet } from '../api';

/** A piece of a snippet, and whether it is highlighted. */
export interface Piece {
  text: string;
  found: boolean;
}

/** Highlighted text, and whether it begins and ends at a word boundary. */
export interface Words {
  text: string;
  begins: boolean;
  ends: boolean;
}

/** Splits a snippet at its highlights. Offsets count code points, not UTF-16 units. */
export function piecesOf({ text, highlights }: Pick<Snippet, 'text' | 'highlights'>): Piece[] {
  const characters = Array.from(text);
  const pieces: Piece[] = [];
  let at = 0;
  const cut = (until: number, found: boolean): void => {
    const piece = characters.slice(at, until).join('');
    if (piece !== '') pieces.push({ text: piece, found });
    at = Math.max(at, until);
  };
  for (const [start, end] of highlights) {
    cut(start, false);
    cut(end, true);
  }
  cut(characters.length, false);
  return pieces;
}

/** Splits a query at an error offset, which counts code points. */
export function cutAt(text: string, at: number): [string, string] {
  const characters = Array.from(text);
  return [characters.slice(0, at).join(''), characters.slice(at).join('')];
}

/** Returns the distinct highlighted texts of a snippet, to be found in the whole message. */
export function wordsOf(snippet: Pick<Snippet, 'text' | 'highlights'>): Words[] {
  const found = new Map<string, Words>();
  const pieces = piecesOf(snippet);
  pieces.forEach((piece, index) => {
    if (!piece.found) return;
    const [before, after] = [pieces[index - 1]?.text ?? '', pieces[index + 1]?.text ?? ''];
    const words = { text: piece.text, begins: !goesOn(before, piece.text), ends: !goesOn(piece.text, after) };
    found.set(JSON.stringify(words), words);
  });
  return [...found.values()];
}

/** Finds words in a text, ignoring case. Returns UTF-16 ranges that do not overlap. */
export function placesIn(text: string, all: Words[]): [number, number][] {
  const haystack = lower(text);
  const places = all.flatMap((words) => {
    const whole = placesOf(haystack, text, words);
    // The stored text has Markdown marks between words that the displayed text does not have.
    return whole.length > 0 ? whole : partsOf(words).flatMap((part) => placesOf(haystack, text, part));
  });
  places.sort((left, right) => left[0] - right[0] || right[1] - left[1]);
  let end = 0;
  return places.filter((place) => {
    if (place[0] < end) return false;
    end = place[1];
    return true;
  });
}

function placesOf(haystack: string, text: string, words: Words): [number, number][] {
  const needle = lower(words.text);
  const places: [number, number][] = [];
  for (let at = haystack.indexOf(needle); needle !== '' && at !== -1; at = haystack.indexOf(needle, at + needle.length)) {
    const end = at + needle.length;
    const begins = !words.begins || !goesOn(text.slice(Math.max(0, at - 2), at), words.text);
    if (begins && (!words.ends || !goesOn(words.text, text.slice(end, end + 2)))) places.push([at, end]);
  }
  return places;
}

function partsOf({ text, begins, ends }: Words): Words[] {
  const parts = text.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== '');
  if (parts.length < 2) return [];
  return parts.map((part, index) => ({ text: part, begins: begins || index > 0, ends: ends || index < parts.length - 1 }));
}

/** Returns whether a word continues from one text into the next. In scripts without spaces a word may begin anywhere. */
function goesOn(before: string, after: string): boolean {
  return /[\p{L}\p{N}_]$/u.test(before) && /^[\p{L}\p{N}_]/u.test(after) && !CJK_END.test(before) && !CJK_START.test(after);
}

const CJK = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}]';
const CJK_END = new RegExp(`${CJK}$`, 'u');
const CJK_START = new RegExp(`^${CJK}`, 'u');

/** Lowercases a text, unless that changes its length and so its offsets. */
function lower(text: string): string {
  const small = text.toLowerCase();
  return small.length === text.length ? small : text;
}
