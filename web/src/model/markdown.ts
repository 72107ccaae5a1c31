// Markdown as blocks that can be shown: paragraphs, headings, lists, quotes, tables and code. No HTML, ever: what is not
// Markdown stays as it was typed, with its line breaks.

import { inlinesOf, type Inline } from './inline';

/** A block of a text. */
export type Block =
  | { kind: 'paragraph'; inside: Inline[] }
  | { kind: 'heading'; level: number; inside: Inline[] }
  | { kind: 'code'; language: string; code: string }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'list'; start: number | undefined; items: Block[][] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

/** Quotes and lists inside each other; what is deeper is words. */
const DEPTH_MAX = 6;
const COLUMNS_MAX = 40;

const FENCE = /^( {0,3})(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const QUOTE = /^ {0,3}>(?:[ \t](.*)|(>.*))?$/;
const ITEM = /^( {0,3})([-*]|\d{1,9}[.)])( {1,4})(?=\S)(.*)$/;

/** Reads a text. */
export function blocksOf(text: string): Block[] {
  return read(text.replaceAll('\r\n', '\n').split('\n'), 0);
}

function read(lines: string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let words: string[] = [];
  const endWords = (): void => {
    const text = words.join('\n').trimEnd();
    if (text !== '') blocks.push({ kind: 'paragraph', inside: inlinesOf(text) });
    words = [];
  };
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] as string;
    const found = line.trim() === '' ? undefined : begun(lines, at, words.length > 0, depth);
    if (found) {
      endWords();
      blocks.push(found.block);
      at = found.next;
      continue;
    }
    if (line.trim() === '') endWords();
    else words.push(line);
    at += 1;
  }
  endWords();
  return blocks;
}

interface Found {
  block: Block;
  next: number;
}

/** Reads the block that begins at a line, unless it is a line of a paragraph. */
function begun(lines: string[], at: number, inWords: boolean, depth: number): Found | undefined {
  const line = lines[at] as string;
  const fence = FENCE.exec(line);
  if (fence) return fenced(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) {
    const level = (heading[1] as string).length;
    return { block: { kind: 'heading', level, inside: inlinesOf((heading[2] as string).trimEnd()) }, next: at + 1 };
  }
  if (isRule(line)) return { block: { kind: 'rule' }, next: at + 1 };
  if (depth < DEPTH_MAX && QUOTE.test(line)) return quoted(lines, at, depth);
  const item = depth < DEPTH_MAX ? ITEM.exec(line) : null;
  // A year at the start of a line is no list.
  if (item && !(inWords && /\d/.test(item[2] as string) && !/^1[.)]$/.test(item[2] as string))) return listed(lines, at, item, depth);
  return inWords ? undefined : tabled(lines, at);
}

/** A fence that nobody closed reaches to the end: it is still being written. */
function fenced(lines: string[], at: number, [, indent = '', fence = '', about = '']: RegExpExecArray): Found {
  const code: string[] = [];
  let next = at + 1;
  for (; next < lines.length; next += 1) {
    const line = lines[next] as string;
    const closing = FENCE.exec(line);
    if (closing?.[2]?.startsWith(fence) === true && closing[3]?.trim() === '') break;
    code.push(outdented(line, indent.length));
  }
  const language = about.trim().split(/\s+/)[0] ?? '';
  return { block: { kind: 'code', language, code: code.join('\n') }, next: next + 1 };
}

function quoted(lines: string[], at: number, depth: number): Found {
  const inside: string[] = [];
  let next = at;
  for (; next < lines.length; next += 1) {
    const found = QUOTE.exec(lines[next] as string);
    if (!found) break;
    inside.push(found[1] ?? found[2] ?? '');
  }
  return { block: { kind: 'quote', blocks: read(inside, depth + 1) }, next };
}

function listed(lines: string[], at: number, first: RegExpExecArray, depth: number): Found {
  const kindOf = (item: RegExpExecArray): string => (item[2] as string).slice(-1);
  const number = Number.parseInt(first[2] as string, 10);
  const items: string[][] = [];
  let width = 0;
  let next = at;
  while (next < lines.length) {
    const line = lines[next] as string;
    if (line.trim() === '') {
      // Blank lines part items and their paragraphs; after others the list is over.
      let after = next;
      while (after < lines.length && (lines[after] as string).trim() === '') after += 1;
      const follower = lines[after];
      if (follower === undefined) break;
      const item = ITEM.exec(follower);
      const goesOn = indentOf(follower) >= width || (item !== null && kindOf(item) === kindOf(first));
      if (!goesOn) break;
      for (; next < after; next += 1) items.at(-1)?.push('');
      continue;
    }
    const item = items.length > 0 && indentOf(line) >= width ? null : ITEM.exec(line);
    if (item) {
      if (kindOf(item) !== kindOf(first) || isRule(line)) break;
      width = (item[1] as string).length + (item[2] as string).length + (item[3] as string).length;
      items.push([item[4] as string]);
    } else if (indentOf(line) >= Math.min(width, 2)) {
      items.at(-1)?.push(outdented(line, width));
    } else {
      break;
    }
    next += 1;
  }
  const start = Number.isNaN(number) ? undefined : number;
  return { block: { kind: 'list', start, items: items.map((inside) => read(inside, depth + 1)) }, next };
}

function tabled(lines: string[], at: number): Found | undefined {
  const [head, line] = [lines[at] as string, lines[at + 1]];
  if (line === undefined || !head.includes('|') || !line.includes('|') || !/^[\s|:-]+$/.test(line)) return undefined;
  const [names, rule] = [cellsOf(head), cellsOf(line)];
  if (names.length !== rule.length || names.length > COLUMNS_MAX || !rule.every((cell) => /^:?-+:?$/.test(cell))) return undefined;
  const rows: Inline[][][] = [];
  let next = at + 2;
  for (; next < lines.length && (lines[next] as string).includes('|'); next += 1) {
    rows.push(cellsOf(lines[next] as string).slice(0, names.length).map(inlinesOf));
  }
  return { block: { kind: 'table', head: names.map(inlinesOf), rows }, next };
}

function cellsOf(line: string): string[] {
  let row = line.trim();
  if (row.startsWith('|')) row = row.slice(1);
  if (row.endsWith('|') && !row.endsWith('\\|')) row = row.slice(0, -1);
  return row.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim());
}

function isRule(line: string): boolean {
  if (line.length > 200 || indentOf(line) > 3) return false;
  const marks = line.replace(/\s/g, '');
  return marks.length >= 3 && /^(?:-+|\*+|_+)$/.test(marks);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function outdented(line: string, width: number): string {
  return line.slice(Math.min(width, indentOf(line)));
}
