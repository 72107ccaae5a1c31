// Parses Markdown (CommonMark with tables, strikethrough and task lists) into a tree that components render. The HTML renderer of the
// parser is not used: raw HTML and images stay text, and links have only the targets that `safeUrl` allows.

import markdownIt, { type MarkdownIt, type Token } from 'markdown-it';
import cjkFriendly from 'markdown-it-cjk-friendly';
import { safeUrl } from './links';

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'emphasis' | 'strikethrough'; children: Inline[] }
  | { kind: 'link'; url: string; children: Inline[] };

export type Block =
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'heading'; level: number; children: Inline[] }
  | { kind: 'code'; language: string; code: string }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'list'; start: number | undefined; items: ListItem[] }
  | { kind: 'table'; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

export interface ListItem {
  /** The state of a task list item; undefined for other items. */
  checked: boolean | undefined;
  blocks: Block[];
}

export type Align = 'left' | 'center' | 'right' | undefined;

/** A longer text is one paragraph of plain text. Parsing takes about a second per megabyte and blocks the page. */
const LENGTH_MAX = 2_000_000;
/** A quote is one level, a list and its item are two. Deeper blocks are paragraphs. Must be below `maxNesting`, where the parser drops text. */
const BLOCK_LEVEL_MAX = 16;
/** Deeper emphasis is plain text. Components recurse, so a file must not decide how deep. */
const INLINE_DEPTH_MAX = 16;

const parser = newParser();

/** Parses a text into blocks. Line breaks inside a paragraph are kept as `\n`. */
export function parseMarkdown(text: string): Block[] {
  if (text.length > LENGTH_MAX) return [{ kind: 'paragraph', children: [{ kind: 'text', text }] }];
  return readBlocks(parser.parse(text, {})[Symbol.iterator]());
}

function newParser(): MarkdownIt {
  const parser = markdownIt({ html: false, linkify: true, maxNesting: 20 });
  // CommonMark does not close the emphasis in **“重点”**内容, because it requires a space or punctuation after closing punctuation.
  parser.use(cjkFriendly);
  // Only addresses with a protocol are links: "main.rs" is a file.
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  parser.normalizeLink = (target) => safeUrl(target) ?? '';
  parser.validateLink = (url) => safeUrl(url) !== undefined;
  parser.normalizeLinkText = (text) => text;
  limitBlockDepth(parser);
  keepImageSource(parser);
  keepIndentation(parser);
  return parser;
}

/** Adds a rule that reads blocks at the depth limit as paragraphs. */
function limitBlockDepth(parser: MarkdownIt): void {
  parser.block.ruler.before('table', 'depth_limit', (state, start, end, silent) => {
    if (silent || state.level < BLOCK_LEVEL_MAX) return false;
    let next = start + 1;
    while (next < end && !state.isEmpty(next) && (state.sCount[next] ?? 0) >= state.blkIndent) next += 1;
    state.line = next;
    state.push('paragraph_open', 'p', 1);
    const inline = state.push('inline', '', 0);
    inline.content = state.getLines(start, next, state.blkIndent, false).trim();
    inline.children = [];
    state.push('paragraph_close', 'p', -1);
    return true;
  });
}

/** Replaces the rule for images by one that keeps their source as text: a message must not load anything from other sites. */
function keepImageSource(parser: MarkdownIt): void {
  const readImage = inlineRule('image');
  parser.inline.ruler.at('image', (state, silent) => {
    const start = state.pos;
    if (!readImage(state, true)) return false;
    if (!silent) state.pending += state.src.slice(start, state.pos);
    return true;
  });
}

/** Keeps the spaces behind a line break, so that code pasted without a fence keeps its indentation. */
function keepIndentation(parser: MarkdownIt): void {
  const readNewline = inlineRule('newline');
  parser.inline.ruler.at('newline', (state, silent) => {
    const start = state.pos;
    if (!readNewline(state, silent)) return false;
    state.pos = start + 1;
    return true;
  });
}

/** Returns a rule of the parser, to be called by the one that replaces it. */
function inlineRule(name: 'image' | 'newline'): ReturnType<MarkdownIt['inline']['ruler']['getRules']>[number] {
  const rule = markdownIt('zero').enable(name).inline.ruler.getRules('').at(-1);
  if (!rule) throw new Error(`the parser has no rule ${name}`);
  return rule;
}

/** Reads sibling blocks up to the closing token of their parent, which is consumed. */
function readBlocks(tokens: Iterator<Token>): Block[] {
  const blocks: Block[] = [];
  for (let token = nextOf(tokens); token && token.nesting !== -1; token = nextOf(tokens)) {
    const block = readBlock(token, tokens);
    if (block) blocks.push(block);
  }
  return blocks;
}

function readBlock(token: Token, tokens: Iterator<Token>): Block | undefined {
  switch (token.type) {
    case 'paragraph_open': {
      const children = readInlines(tokens);
      return children.length > 0 ? { kind: 'paragraph', children } : undefined;
    }
    case 'heading_open':
      return { kind: 'heading', level: Number(token.tag.slice(1)), children: readInlines(tokens) };
    case 'fence':
    case 'code_block':
      return { kind: 'code', language: token.info.trim().split(/\s+/)[0] ?? '', code: token.content.replace(/\n$/, '') };
    case 'blockquote_open':
      return { kind: 'quote', blocks: readBlocks(tokens) };
    case 'bullet_list_open':
      return { kind: 'list', start: undefined, items: readItems(tokens) };
    case 'ordered_list_open':
      return { kind: 'list', start: Number(token.attrGet('start') ?? 1), items: readItems(tokens) };
    case 'table_open':
      return readTable(tokens);
    case 'hr':
      return { kind: 'rule' };
    default:
      return undefined;
  }
}

function readItems(tokens: Iterator<Token>): ListItem[] {
  const items: ListItem[] = [];
  while (nextOf(tokens)?.type === 'list_item_open') {
    const blocks = readBlocks(tokens);
    items.push({ checked: takeCheckbox(blocks), blocks });
  }
  return items;
}

/** Removes `[ ]` or `[x]` at the start of a list item and returns its state. */
function takeCheckbox(blocks: Block[]): boolean | undefined {
  const first = blocks[0]?.kind === 'paragraph' ? blocks[0].children[0] : undefined;
  const box = first?.kind === 'text' ? /^\[([ xX])\]\s+/.exec(first.text) : null;
  if (first?.kind !== 'text' || !box) return undefined;
  first.text = first.text.slice(box[0].length);
  return box[1] !== ' ';
}

function readTable(tokens: Iterator<Token>): Block {
  const align: Align[] = [];
  const rows: Inline[][][] = [];
  for (let token = nextOf(tokens); token && token.type !== 'table_close'; token = nextOf(tokens)) {
    if (token.type === 'tr_open') rows.push([]);
    else if (token.type === 'th_open') align.push(alignOf(token));
    else if (token.type === 'inline') rows.at(-1)?.push(inlinesOf(token));
  }
  return { kind: 'table', align, head: rows[0] ?? [], rows: rows.slice(1) };
}

function alignOf(cell: Token): Align {
  return /text-align:(left|center|right)/.exec(String(cell.attrGet('style')))?.[1] as Align;
}

/** Reads the text of a paragraph or heading and its closing token. */
function readInlines(tokens: Iterator<Token>): Inline[] {
  const inline = nextOf(tokens);
  nextOf(tokens);
  return inline ? inlinesOf(inline) : [];
}

function inlinesOf(token: Token): Inline[] {
  const root: Inline[] = [];
  const open = [root];
  for (const child of token.children ?? []) {
    const siblings = open.at(-1) ?? root;
    if (child.nesting === 1) {
      const parent = open.length > INLINE_DEPTH_MAX ? undefined : parentOf(child);
      if (parent) siblings.push(parent);
      open.push(parent?.children ?? siblings);
    } else if (child.nesting === -1) {
      open.pop();
    } else if (child.type === 'code_inline') {
      siblings.push({ kind: 'code', text: child.content });
    } else {
      pushText(siblings, child.type === 'softbreak' || child.type === 'hardbreak' ? '\n' : child.content);
    }
  }
  return root;
}

function parentOf(token: Token): Extract<Inline, { children: Inline[] }> | undefined {
  if (token.type === 'strong_open') return { kind: 'strong', children: [] };
  if (token.type === 'em_open') return { kind: 'emphasis', children: [] };
  if (token.type === 's_open') return { kind: 'strikethrough', children: [] };
  const url = safeUrl(String(token.attrGet('href')));
  return url === undefined ? undefined : { kind: 'link', url, children: [] };
}

function pushText(siblings: Inline[], text: string): void {
  const last = siblings.at(-1);
  if (last?.kind === 'text') last.text += text;
  else if (text !== '') siblings.push({ kind: 'text', text });
}

function nextOf(tokens: Iterator<Token>): Token | undefined {
  const { done, value } = tokens.next();
  return done ? undefined : value;
}
