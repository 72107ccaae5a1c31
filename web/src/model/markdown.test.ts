import { expect, test } from 'vitest';
import { parseMarkdown, type Block, type Inline } from './markdown';

/** Writes inlines in a form that fits in a line of a test. */
const line = (inlines: Inline[]): string =>
  inlines
    .map((inline) => {
      if (inline.kind === 'text') return inline.text;
      if (inline.kind === 'code') return `{code ${inline.text}}`;
      if (inline.kind === 'link') return `{link ${inline.url} ${line(inline.children)}}`;
      return `{${inline.kind} ${line(inline.children)}}`;
    })
    .join('');
const show = (block: Block): unknown => {
  if (block.kind === 'paragraph') return line(block.children);
  if (block.kind === 'heading') return { [`h${block.level}`]: line(block.children) };
  if (block.kind === 'code') return { code: block.code, language: block.language };
  if (block.kind === 'quote') return { quote: block.blocks.map(show) };
  if (block.kind === 'list') {
    const items = block.items.map(({ checked, blocks }) => [...(checked === undefined ? [] : [checked]), ...blocks.map(show)]);
    return { [block.start === undefined ? 'list' : `from ${block.start}`]: items };
  }
  if (block.kind === 'table') return { table: [block.head, ...block.rows].map((row) => row.map(line)) };
  return block.kind;
};
const check = (text: string, expected: unknown[]): void => expect(parseMarkdown(text).map(show)).toEqual(expected);
const same = (text: string): void => check(text, [text]);

test('blank lines separate paragraphs, single line breaks stay', () => {
  check('one\ntwo\n\n \nthree\n', ['one\ntwo', 'three']);
  check('one\r\ntwo  \nthree\\\nfour', ['one\ntwo\nthree\nfour']);
});

test('fences hold code with its language and its blank lines', () => {
  check('see\n```rust title=x\nfn a() {\n\n}\n```\nend', ['see', { code: 'fn a() {\n\n}', language: 'rust' }, 'end']);
});

test('a shorter fence inside a longer one is code', () => {
  check('````md\n```js\n1\n```\n````', [{ code: '```js\n1\n```', language: 'md' }]);
});

test('an unclosed fence reaches to the end', () => check('```py\nprint(1)', [{ code: 'print(1)', language: 'py' }]));

test('four spaces begin code', () => check('a\n\n    let x;\n      y', ['a', { code: 'let x;\n  y', language: '' }]));

test('emphasis and code inside a line', () => {
  same('snake_case_name');
  check('a **b** c', ['a {strong b} c']);
  check('_i_ and __s__', ['{emphasis i} and {strong s}']);
  check('*i* and ***both***', ['{emphasis i} and {emphasis {strong both}}']);
  check('**bold *both***', ['{strong bold {emphasis both}}']);
  check('***both* bold**', ['{strong {emphasis both} bold}']);
  check('`a*b*` and ``x ` y``', ['{code a*b*} and {code x ` y}']);
  check('~~gone~~ and ~one~', ['{strikethrough gone} and ~one~']);
  check('\\*not\\*', ['*not*']);
});

test('emphasis next to Chinese text and punctuation', () => {
  check('**重要**：见', ['{strong 重要}：见']);
  check('这是**重点**内容', ['这是{strong 重点}内容']);
  check('这是**“重点”**内容', ['这是{strong “重点”}内容']);
  check('**注意：**请先保存。', ['{strong 注意：}请先保存。']);
});

test('links lead to http, https and mailto only', () => {
  check('[a **b**](https://example.com/x_(y)?z#w "title")', ['{link https://example.com/x_(y)?z#w a {strong b}}']);
  check('[m](mailto:a@example.com)', ['{link mailto:a@example.com m}']);
  check('<https://example.com> and <a@example.com>', ['{link https://example.com/ https://example.com} and {link mailto:a@example.com a@example.com}']);
  check('see https://example.com/a_b.', ['see {link https://example.com/a_b https://example.com/a_b}.']);
  check('见 https://example.com/a。', ['见 {link https://example.com/a https://example.com/a}。']);
  check('(https://example.com)', ['({link https://example.com/ https://example.com})']);
  check('[https://bank.example](https://other.example)', ['{link https://other.example/ https://bank.example}']);
  // A host name that looks like another one is written in Punycode.
  check('[x](https://b\u0430nk.example)', ['{link https://xn--bnk-6cd.example/ x}']);
  for (const text of [
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](data:text/html,<script>)',
    '[x](vbscript:x)',
    '[x](//evil.example)',
    '[x](/api/v1/conversations)',
    '[x](file:///etc/passwd)',
    '![x](cid:secret)',
    '<javascript:alert(1)>',
    'javascript:alert(1) ftp://x.example //y.example main.rs www.example.com',
  ]) {
    expect(JSON.stringify(parseMarkdown(text))).not.toContain('"link"');
    same(text);
  }
  expect(JSON.stringify(parseMarkdown('[x]\n\n[x]: javascript:alert(1)'))).not.toContain('"link"');
  expect(JSON.stringify(parseMarkdown('[x](&#106;avascript:alert(1)) [x]()'))).not.toContain('"link"');
});

test('reference links', () => check('[a][1] and [1]\n\n[1]: https://example.com', ['{link https://example.com/ a} and {link https://example.com/ 1}']));

test('the source of an image is shown and nothing is loaded', () => {
  same('![x](cid:a)');
  check('![x](https://evil.example/p.png)', ['![x]({link https://evil.example/p.png https://evil.example/p.png})']);
  check('[![x](https://evil.example/p.png)](https://a.example)', ['{link https://a.example/ ![x](https://evil.example/p.png)}']);
  expect(JSON.stringify(parseMarkdown('![x](https://evil.example/p.png) ![y][1]\n\n[1]: https://evil.example/q.png'))).not.toMatch(/image|src/);
});

test('HTML is text', () => {
  for (const text of ['<img src=x onerror=alert(1)>', '<b>x</b>', '<!-- x -->', '<a href="javascript:x">y</a>', '<div>\n<script>x</script>\n</div>']) same(text);
});

test('entities', () => check('&amp; &lt;b&gt; &#x3c; &copy; &nothing;', ['& <b> < © &nothing;']));

test('text that is not Markdown stays as typed', () => {
  for (const text of [
    '2 * 3 * 4 = 24',
    'snake_case_name',
    '*.rs and *.ts',
    'a[0] = b[1] (see c)',
    '#hashtag and C#',
    '-5 degrees',
    'it was\n1986. A year',
    'a | b',
    'def f():\n    return 1\n\treturn  2',
    '07:10  walk\n  08:00  eat',
    'unclosed **bold and `code and [link',
  ]) {
    same(text);
  }
});

test('headings, quotes and rules', () => {
  check('# One\ntext\n### Three *x* ###', [{ h1: 'One' }, 'text', { h3: 'Three {emphasis x}' }]);
  check('One\n===\nTwo\n---', [{ h1: 'One' }, { h2: 'Two' }]);
  check('> a\n> b\n>\n> > c\n\nd', [{ quote: ['a\nb', { quote: ['c'] }] }, 'd']);
  check('> a\nstill a', [{ quote: ['a\nstill a'] }]);
  check('a\n\n---\n\nb', ['a', 'rule', 'b']);
});

test('lists, and lists in lists', () => {
  check('Do:\n- a\n- b\n  more\n  - c\n\n- d\n\nend', ['Do:', { list: [['a'], ['b\nmore', { list: [['c']] }], ['d']] }, 'end']);
  check('3. a\n4. b', [{ 'from 3': [['a'], ['b']] }]);
  check('0. a', [{ 'from 0': [['a']] }]);
  check('1. a\n\n   ```sh\n   ls\n     x\n   ```\n2. b', [{ 'from 1': [['a', { code: 'ls\n  x', language: 'sh' }], ['b']] }]);
});

test('task lists', () => {
  check('- [ ] a\n- [x] **b**\n- c\n- [x](https://a.example)', [{ list: [[false, 'a'], [true, '{strong b}'], ['c'], ['{link https://a.example/ x}']] }]);
});

test('tables', () => {
  check('| a | b |\n|---|:-:|\n| `1` | 2 \\| 3 |\n| x |\n\nend', [{ table: [['a', 'b'], ['{code 1}', '2 | 3'], ['x', '']] }, 'end']);
  const [table] = parseMarkdown('a|b|c|d\n-|:-|:-:|-:\n1|2|3|4');
  expect(table?.kind === 'table' && table.align).toEqual([undefined, 'left', 'center', 'right']);
  same('a | b\nc | d');
});

test('blocks behind the depth limit keep their text', () => {
  for (const mark of ['> ', '- ', '1. ', '> - ']) expect(JSON.stringify(parseMarkdown(`${mark.repeat(100)}deep\n\nafter`))).toMatch(/deep.*after/);
  expect(JSON.stringify(parseMarkdown(`${'*a **b '.repeat(100)}deep${' b** a*'.repeat(100)}`))).toContain('deep');
});

test('a text that is too long to parse is one paragraph', () => {
  const text = '**a** '.repeat(400_000);
  expect(parseMarkdown(text)).toEqual([{ kind: 'paragraph', children: [{ kind: 'text', text }] }]);
});

test('hostile text takes time that grows with its length', () => {
  const size = 1_000_000;
  const less = 100_000;
  const times: [string, number][] = [];
  for (const unit of [
    '*', '**', '*a', '*a ', '**a ', '***a* ', '*a* ', '**a *b ', 'a* ', '[', ']', '[]', '[a](', '](', '[a](b', '[a](https://a.example) *b ',
    '`', '` ', '`` ` ', '`a``b```c', '> ', '>', '- ', '- a\n', '1. ', '|', '|-', '|\n', '|-|\n', '# ', '#', '```\n', '~~~', '\\', ' ', '\n', ' \n',
    'http://', 'https://a.example/ ', '((', '![', '<', '\u0000', '- - ', '  - a\n', '*[a ', '~~a ', '_a ', '&amp;', '&', '[a]: b\n', 'a\n=\n', '<a', 'a@b.c ', '- [ ] a\n', '> - ', '![a](b)', 'a|b\n-|-\n', '[a][b]',
    'http://a(', '[a](<b', '[a](b "', '~~*a_', '，*',
  ]) {
    const started = performance.now();
    parseMarkdown(unit.repeat((unit.length === 1 ? size : less) / unit.length));
    times.push([unit, performance.now() - started]);
  }
  for (const [opening, closing] of [['*a ', ' b*'], ['[', ']'], ['**a *', '*b**'], ['[a ', '](https://a.example)'], ['> ', ''], ['- ', 'x']] as const) {
    const text = opening.repeat(less / opening.length) + 'x' + closing.repeat(less / Math.max(1, closing.length));
    const started = performance.now();
    parseMarkdown(text);
    times.push([`${opening}…${closing}`, performance.now() - started]);
  }
  let lines = '';
  for (let depth = 0; lines.length < less; depth += 1) lines += `${' '.repeat(2 * (depth % 300))}- a\n`;
  const started = performance.now();
  parseMarkdown(lines);
  times.push(['steps', performance.now() - started]);
  // Quadratic time would take minutes; a slow machine takes some seconds for a megabyte.
  expect(times.filter(([, time_ms]) => time_ms > 8000)).toEqual([]);
}, 240_000);

test('nothing nests deeper than a page can show', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  for (const text of ['*a **b '.repeat(5000) + ' b** a*'.repeat(5000), '> '.repeat(5000) + 'x', '- '.repeat(5000) + 'x', '['.repeat(5000) + 'x' + '](https://a.example)'.repeat(5000)]) {
    expect(depthOf(parseMarkdown(text))).toBeLessThan(100);
  }
});

test('random marks are parsed without an error', () => {
  const units = ['*', '**', '***', '[', ']', '(', ')', '](http://a)', '`', '``', '\\', '!', 'a', ' ', '\n', '|', '- ', '> ', '# ', '```', '中', '|-|'];
  let seed = 7;
  const below = (end: number): number => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return Math.floor((seed / 0x80000000) * end);
  };
  for (let number = 0; number < 20_000; number += 1) {
    const text = Array.from({ length: 1 + below(24) }, () => units[below(units.length)]).join('');
    expect(() => parseMarkdown(text), JSON.stringify(text)).not.toThrow();
  }
}, 60_000);
