// The marks inside a line of Markdown: **strong**, *emphasis*, `code` and links. Anything else is words, as typed.

/** A piece of a line. */
export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong'; inside: Inline[] }
  | { kind: 'emphasis'; inside: Inline[] }
  | { kind: 'link'; address: string; inside: Inline[] };

/** Deeper than this nobody writes; a page that nests as deep as a file says can be brought down by a file. */
const DEPTH_MAX = 16;
const ADDRESS_MAX = 2000;
/** Where something other than words may begin. */
const SPECIAL = /[*`[\]\\]|\bhttps?:\/\//gi;
const BARE = /https?:\/\/[^\s<>"'`*[\]\\]+/iy;

/** A mark that waits for its partner: its place among the pieces, where it still stands as words. */
interface Open {
  mark: '[' | 1 | 2 | 3;
  at: number;
  /** How many links there were; a link holds no link, so a bracket from before the last one opens none. */
  links: number;
}

/** Reads a line, or several of them, in time that grows with their length and no faster. */
export function inlinesOf(text: string): Inline[] {
  return new Reader(text).read();
}

/** Returns an address that may be followed, written so that it cannot look like another one. */
export function safeAddress(address: string): string | undefined {
  if (address.length > ADDRESS_MAX || !/^(?:https?:\/\/|mailto:)/i.test(address)) return undefined;
  try {
    const url = new URL(address);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

class Reader {
  #at = 0;
  readonly #out: { piece: Inline; depth: number }[] = [];
  #open: Open[] = [];
  #links = 0;
  /** How many of each mark wait, so that a closing one without a partner is no search. */
  readonly #waiting = { '[': 0, 1: 0, 2: 0, 3: 0 };
  readonly #codeEnds: Map<number, number>;

  constructor(readonly text: string) {
    this.#codeEnds = codeEnds(text);
  }

  read(): Inline[] {
    const { text } = this;
    while (this.#at < text.length) {
      SPECIAL.lastIndex = this.#at;
      const next = SPECIAL.exec(text)?.index ?? text.length;
      this.#words(text.slice(this.#at, next));
      this.#at = next;
      const character = text[next];
      if (character === undefined) break;
      if (character === '\\') this.#escape();
      else if (character === '`') this.#code();
      else if (character === '*') this.#stars();
      else if (character === '[') this.#begin('[', '[');
      else if (character === ']') this.#bracket();
      else this.#bare();
    }
    return merged(this.#out.map(({ piece }) => piece));
  }

  #words(text: string): void {
    if (text !== '') this.#out.push({ piece: { kind: 'text', text }, depth: 0 });
  }

  #take(text: string): void {
    this.#words(text);
    this.#at += text.length;
  }

  /** Only the marks that would be read can be taken back; a backslash before anything else is one. */
  #escape(): void {
    const next = this.text[this.#at + 1];
    if (next === '*' || next === '`') {
      this.#words(next);
      this.#at += 2;
    } else {
      this.#take('\\');
    }
  }

  #code(): void {
    const length = run(this.text, this.#at, '`');
    const end = this.#codeEnds.get(this.#at);
    if (end === undefined) return this.#take('`'.repeat(length));
    const inside = this.text.slice(this.#at + length, end);
    const padded = inside.startsWith(' ') && inside.endsWith(' ') && inside.trim() !== '';
    this.#out.push({ piece: { kind: 'code', text: padded ? inside.slice(1, -1) : inside }, depth: 0 });
    this.#at = end + length;
  }

  #stars(): void {
    const length = run(this.text, this.#at, '*');
    const [before, after] = [this.text[this.#at - 1] ?? ' ', this.text[this.#at + length] ?? ' '];
    if (length > 3) return this.#take('*'.repeat(length));
    // A star between letters or digits multiplies, or is a part of a name.
    const closes = !/\s/.test(before) && !/[0-9A-Za-z]/.test(after);
    const opens = !/\s/.test(after) && !/[0-9A-Za-z]/.test(before);
    if (closes && this.#closeStars(length as 1 | 2 | 3)) return;
    if (opens) this.#begin(length as 1 | 2 | 3, '*'.repeat(length));
    else this.#take('*'.repeat(length));
  }

  #closeStars(length: 1 | 2 | 3): boolean {
    if (this.#waiting[length] > 0) {
      const open = this.#pop(length);
      if (!this.#wrap(open.at, length)) this.#words('*'.repeat(length));
      this.#at += length;
      return true;
    }
    const top = this.#open.at(-1);
    // Three stars close one mark and then the one around it: **bold and *both***.
    if (length === 3 && (top?.mark === 1 || top?.mark === 2)) {
      const first = top.mark;
      return this.#closeStars(first) && (this.#closeStars(first === 1 ? 2 : 1) || true);
    }
    // And three open ones are closed one after the other: ***both* bold**.
    if (length !== 3 && top?.mark === 3) {
      this.#pop(3);
      const rest = length === 1 ? 2 : 1;
      const opener = this.#out[top.at];
      if (!opener) return false;
      opener.piece = { kind: 'text', text: '*'.repeat(rest) };
      this.#out.splice(top.at + 1, 0, { piece: { kind: 'text', text: '*'.repeat(length) }, depth: 0 });
      if (!this.#wrap(top.at + 1, length)) this.#words('*'.repeat(length));
      this.#open.push({ mark: rest, at: top.at, links: this.#links });
      this.#waiting[rest] += 1;
      this.#at += length;
      return true;
    }
    return false;
  }

  #bracket(): void {
    this.#at += 1;
    if (this.#waiting['['] === 0) return this.#words(']');
    const open = this.#pop('[');
    const image = this.text[this.#at] === '(' && this.#isImage(open);
    const end = this.text[this.#at] === '(' && !image ? addressEnd(this.text, this.#at + 1) : undefined;
    const address = end === undefined ? undefined : safeAddress(this.text.slice(this.#at + 1, end));
    if (end === undefined || address === undefined || !this.#link(open.at, address)) return this.#words(']');
    this.#at = end + 1;
    this.#links += 1;
    this.#waiting['['] = 0;
  }

  /** A picture is loaded from nowhere; its words stay as they were typed. */
  #isImage(open: Open): boolean {
    const before = this.#out[open.at - 1]?.piece;
    return before?.kind === 'text' && before.text.endsWith('!');
  }

  #bare(): void {
    BARE.lastIndex = this.#at;
    const found = BARE.exec(this.text)?.[0];
    if (found === undefined || this.#waiting['['] > 0) return this.#take(found ?? (this.text[this.#at] as string));
    let end = found.length;
    // The stop of a sentence and the bracket around an address do not belong to it.
    while (end > 0 && /[.,;:!?，。；：！？、）」』》]/.test(found[end - 1] as string)) end -= 1;
    if (found[end - 1] === ')' && !found.slice(0, end).includes('(')) end -= 1;
    const address = safeAddress(found.slice(0, end));
    if (address === undefined) return this.#take(found);
    this.#out.push({ piece: { kind: 'link', address, inside: [{ kind: 'text', text: found.slice(0, end) }] }, depth: 1 });
    this.#at += end;
  }

  #begin(mark: Open['mark'], words: string): void {
    this.#open.push({ mark, at: this.#out.length, links: this.#links });
    this.#waiting[mark] += 1;
    this.#take(words);
  }

  /** Takes the nearest of a mark; what opened after it has no partner and stays words. */
  #pop(mark: Open['mark']): Open {
    for (;;) {
      const open = this.#open.pop();
      if (!open) throw new Error('it was counted, so it waits');
      if (open.mark !== '[' || open.links === this.#links) this.#waiting[open.mark] -= 1;
      if (open.mark === mark) return open;
    }
  }

  #wrap(at: number, length: 1 | 2 | 3): boolean {
    return this.#fold(at, (inside) =>
      length === 1
        ? { kind: 'emphasis', inside }
        : { kind: 'strong', inside: length === 2 ? inside : [{ kind: 'emphasis', inside }] },
    );
  }

  #link(at: number, address: string): boolean {
    return this.#out.length > at + 1 && this.#fold(at, (inside) => ({ kind: 'link', address, inside: unlinked(inside) }));
  }

  #fold(at: number, make: (inside: Inline[]) => Inline): boolean {
    let depth = 2;
    for (let place = at + 1; place < this.#out.length; place += 1) depth = Math.max(depth, (this.#out[place]?.depth ?? 0) + 2);
    if (depth > DEPTH_MAX) {
      // What opened around it would be as deep; forgetting it keeps one look from becoming many.
      this.#open = [];
      Object.assign(this.#waiting, { '[': 0, 1: 0, 2: 0, 3: 0 });
      return false;
    }
    const inside = this.#out.splice(at).slice(1);
    this.#out.push({ piece: make(merged(inside.map(({ piece }) => piece))), depth });
    return true;
  }
}

/** Finds for each run of backticks that opens code where the run of the same length begins that closes it. */
function codeEnds(text: string): Map<number, number> {
  const runs: [at: number, length: number][] = [];
  for (let at = text.indexOf('`'); at !== -1; at = text.indexOf('`', at)) {
    const length = run(text, at, '`');
    runs.push([at, length]);
    at += length;
  }
  const ends = new Map<number, number>();
  const next = new Map<number, number>();
  for (const [at, length] of runs.reverse()) {
    const end = next.get(length);
    if (end !== undefined) ends.set(at, end);
    next.set(length, at);
  }
  return ends;
}

/** Finds the bracket that closes an address. It holds no space and no square bracket, so no two searches overlap. */
function addressEnd(text: string, from: number): number | undefined {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at] as string;
    if (/[\s[\]<>]/.test(character)) return undefined;
    if (character === '(') depth += 1;
    if (character === ')') {
      if (depth === 0) return at;
      depth -= 1;
    }
  }
  return undefined;
}

function run(text: string, at: number, character: string): number {
  let end = at;
  while (text[end] === character) end += 1;
  return end - at;
}

/** Puts words that stand side by side together. */
function merged(pieces: Inline[]): Inline[] {
  const all: Inline[] = [];
  let words: string[] = [];
  const end = (): void => {
    if (words.length > 0) all.push({ kind: 'text', text: words.join('') });
    words = [];
  };
  for (const piece of pieces) {
    if (piece.kind === 'text') words.push(piece.text);
    else {
      end();
      all.push(piece);
    }
  }
  end();
  return all;
}

/** A link holds no link; an address in its words is words. */
function unlinked(pieces: Inline[]): Inline[] {
  return merged(
    pieces.flatMap((piece) => {
      if (piece.kind === 'link') return unlinked(piece.inside);
      return 'inside' in piece ? [{ ...piece, inside: unlinked(piece.inside) }] : [piece];
    }),
  );
}
