// Text that others wrote, made fit to be shown. Nothing here is ever read as HTML.

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
