import { expect, test } from 'vitest';
import { inlinesOf, type Inline } from './inline';
import { blocksOf, type Block } from './markdown';

/** Writes pieces in a form that tests can hold in a line. */
const line = (pieces: Inline[]): string =>
  pieces
    .map((piece) => {
      if (piece.kind === 'text') return piece.text;
      if (piece.kind === 'code') return `{code ${piece.text}}`;
      if (piece.kind === 'link') return `{link ${piece.address} ${line(piece.inside)}}`;
      return `{${piece.kind} ${line(piece.inside)}}`;
    })
    .join('');
const show = (block: Block): unknown => {
  if (block.kind === 'paragraph') return line(block.inside);
  if (block.kind === 'heading') return { [`h${block.level}`]: line(block.inside) };
  if (block.kind === 'code') return { code: block.code, language: block.language };
  if (block.kind === 'quote') return { quote: block.blocks.map(show) };
  if (block.kind === 'list') return { [block.start === undefined ? 'list' : `from ${block.start}`]: block.items.map((item) => item.map(show)) };
  if (block.kind === 'table') return { table: [block.head, ...block.rows].map((row) => row.map(line)) };
  return block.kind;
};
const check = (text: string, expected: unknown[]): void => expect(blocksOf(text).map(show)).toEqual(expected);
const same = (text: string): void => check(text, [text]);
const inline = (text: string, expected: string): void => expect(line(inlinesOf(text))).toBe(expected);

test('blank lines part paragraphs, single line breaks stay', () => check('one\ntwo\n\n \nthree\n', ['one\ntwo', 'three']));

test('the indent of a first line stays', () => check('\n  indented', ['  indented']));

test('fences hold code with its language and its blank lines', () => {
  check('see\n```rust title=x\nfn a() {\n\n}\n```\nend', ['see', { code: 'fn a() {\n\n}', language: 'rust' }, 'end']);
});

test('a shorter fence inside a longer one is code', () => {
  check('````md\n```js\n1\n```\n````', [{ code: '```js\n1\n```', language: 'md' }]);
});

test('a fence that is still being written reaches to the end', () => check('```py\nprint(1)', [{ code: 'print(1)', language: 'py' }]));

test('marks inside a line', () => {
  inline('a **b** c', 'a {strong b} c');
  inline('*i* and ***both***', '{emphasis i} and {strong {emphasis both}}');
  inline('**bold *both***', '{strong bold {emphasis both}}');
  inline('***both* bold**', '{strong {emphasis both} bold}');
  inline('`a*b*` and ``x ` y``', '{code a*b*} and {code x ` y}');
  inline('**重要**：见', '{strong 重要}：见');
  inline('这是**重点**内容', '这是{strong 重点}内容');
  inline('\\*not\\*', '*not*');
});

test('links go to the web and to mail, and nowhere else', () => {
  inline('[a **b**](https://example.com/x_(y)?z#w)', '{link https://example.com/x_(y)?z#w a {strong b}}');
  inline('[m](mailto:a@example.com)', '{link mailto:a@example.com m}');
  inline('see https://example.com/a_b.', 'see {link https://example.com/a_b https://example.com/a_b}.');
  inline('(https://example.com)', '({link https://example.com/ https://example.com})');
  inline('[https://bank.example](https://other.example)', '{link https://other.example/ https://bank.example}');
  // An address that looks like another one is written as it is looked up.
  inline('[x](https://b\u0430nk.example)', '{link https://xn--bnk-6cd.example/ x}');
  for (const text of [
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](data:text/html,<script>)',
    '[x](vbscript:x)',
    '[x](//evil.example)',
    '[x](/api/v1/conversations)',
    '[x](file:///etc/passwd)',
    '![x](cid:secret)',
  ]) {
    expect(JSON.stringify(inlinesOf(text))).not.toContain('"link"');
    inline(text, text);
  }
});

test('a picture is not loaded and not hidden', () => {
  expect(JSON.stringify(blocksOf('![x](https://evil.example/p.png)'))).not.toMatch(/image|src/);
});

test('markup is words', () => {
  for (const text of ['<img src=x onerror=alert(1)>', '<b>x</b> &amp; &#x3c;', '<!-- x -->', '<a href="javascript:x">y</a>']) same(text);
});

test('what is not Markdown stays as typed', () => {
  for (const text of [
    '2 * 3 * 4 = 24, and 2*3*4, and 2**3**4',
    'snake_case_name and __init__',
    '*.rs and *.ts',
    'a[0] = b[1] (see c)',
    '\\[x^2\\] C:\\dir\\*a',
    '#hashtag and C#',
    '>_<',
    '-5 degrees\n+ 3',
    'it was\n1986. A year',
    'a | b',
    '  07:10  walk\n  08:00  eat',
    'unclosed **bold and `code and [link',
  ]) {
    check(text, [text.replace('\\*', '*')]);
  }
});

test('headings, quotes and rules', () => {
  check('# One\ntext\n### Three *x*', [{ h1: 'One' }, 'text', { h3: 'Three {emphasis x}' }]);
  check('> a\n> b\n>\n> > c\nd', [{ quote: ['a\nb', { quote: ['c'] }] }, 'd']);
  check('a\n\n---\n\nb', ['a', 'rule', 'b']);
});

test('lists, and lists in lists', () => {
  check('Do:\n- a\n- b\n  more\n  - c\n\n- d\n\nend', ['Do:', { list: [['a'], ['b\nmore', { list: [['c']] }], ['d']] }, 'end']);
  check('3. a\n4. b', [{ 'from 3': [['a'], ['b']] }]);
  check('1. a\n\n   ```sh\n   ls\n     x\n   ```\n2. b', [{ 'from 1': [['a', { code: 'ls\n  x', language: 'sh' }], ['b']] }]);
});

test('tables', () => {
  check('| a | b |\n|---|:-:|\n| `1` | 2 \\| 3 |\n| x |\nend', [{ table: [['a', 'b'], ['{code 1}', '2 | 3'], ['x']] }, 'end']);
  same('a | b\nc | d');
});

test('a megabyte of marks is read in a moment', () => {
  const size = 1_000_000;
  const less = 100_000;
  const times: [string, number][] = [];
  for (const unit of [
    '*', '**', '*a', '*a ', '**a ', '***a* ', '*a* ', '**a *b ', 'a* ', '[', ']', '[]', '[a](', '](', '[a](b', '[a](https://a.example) *b ',
    '`', '` ', '`` ` ', '`a``b```c', '> ', '>', '- ', '- a\n', '1. ', '|', '|-', '|\n', '|-|\n', '# ', '#', '```\n', '~~~', '\\', ' ', '\n', ' \n',
    'http://', 'https://a.example/ ', '((', '![', '<', '\u0000', '- - ', '  - a\n', '*[a ',
  ]) {
    const begun = performance.now();
    blocksOf(unit.repeat((unit.length === 1 ? size : less) / unit.length));
    times.push([unit, performance.now() - begun]);
  }
  for (const [opening, closing] of [['*a ', ' b*'], ['[', ']'], ['**a *', '*b**'], ['[a ', '](https://a.example)'], ['> ', ''], ['- ', 'x']] as const) {
    const text = opening.repeat(less / opening.length) + 'x' + closing.repeat(less / Math.max(1, closing.length));
    const begun = performance.now();
    blocksOf(text);
    times.push([`${opening}…${closing}`, performance.now() - begun]);
  }
  let lines = '';
  for (let depth = 0; lines.length < less; depth += 1) lines += `${' '.repeat(2 * (depth % 300))}- a\n`;
  const begun = performance.now();
  blocksOf(lines);
  times.push(['steps', performance.now() - begun]);
  // Squared time would take minutes; a slow machine takes some hundred milliseconds.
  expect(times.filter(([, time_ms]) => time_ms > 4000)).toEqual([]);
}, 240_000);

test('nothing nests deeper than a page can show', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  for (const text of ['*a **b '.repeat(5000) + ' b** a*'.repeat(5000), '> '.repeat(5000) + 'x', '- '.repeat(5000) + 'x', '['.repeat(5000) + 'x' + '](https://a.example)'.repeat(5000)]) {
    expect(depthOf(blocksOf(text))).toBeLessThan(100);
  }
});

test('whatever is typed is read', () => {
  const units = ['*', '**', '***', '[', ']', '(', ')', '](http://a)', '`', '``', '\\', '!', 'a', ' ', '\n', '|', '- ', '> ', '# ', '```', '中', '|-|'];
  let seed = 7;
  const below = (end: number): number => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return Math.floor((seed / 0x80000000) * end);
  };
  for (let number = 0; number < 20_000; number += 1) {
    const text = Array.from({ length: 1 + below(24) }, () => units[below(units.length)]).join('');
    expect(() => blocksOf(text), JSON.stringify(text)).not.toThrow();
  }
});
