// Words of a message as pieces that can be shown: paragraphs and code. Nothing here is ever read as HTML.

/** A piece of a text. */
export type Piece = { kind: 'paragraph'; text: string } | { kind: 'code'; language: string; code: string };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;

/** Splits a text at its fences and blank lines. A fence that nobody closed reaches to the end. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let words: string[] = [];
  let code: { fence: string; language: string; lines: string[] } | undefined;
  const endWords = (): void => {
    for (const text of words.join('\n').split(/\n[ \t]*\n\s*/)) {
      const trimmed = text.replace(/^\n+|\s+$/g, '');
      if (trimmed !== '') pieces.push({ kind: 'paragraph', text: trimmed });
    }
    words = [];
  };
  const endCode = (): void => {
    if (code) pieces.push({ kind: 'code', language: code.language, code: code.lines.join('\n') });
    code = undefined;
  };
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    const fence = FENCE.exec(line);
    if (code) {
      const closes = fence?.[1]?.startsWith(code.fence) === true && fence[2]?.trim() === '';
      if (closes) endCode();
      else code.lines.push(line);
    } else if (fence?.[1]) {
      endWords();
      code = { fence: fence[1], language: fence[2]?.trim().split(/\s+/)[0] ?? '', lines: [] };
    } else {
      words.push(line);
    }
  }
  endCode();
  endWords();
  return pieces;
}

/** Makes characters visible that a screen would swallow, a NUL for one. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, (character) =>
    character === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + character.charCodeAt(0)),
  );
}

/** Returns a text as one short line. */
export function oneLine(text: string, characters_max = 90): string {
  const line = visible(text.slice(0, 4 * characters_max + 200)).replace(/\s+/g, ' ').trim();
  const characters = Array.from(line);
  return characters.length > characters_max ? `${characters.slice(0, characters_max).join('')}…` : line;
}
