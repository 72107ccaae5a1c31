// Prepares untrusted text for display as text.

/** Replaces control characters by their visible symbols. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, (character) =>
    character === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + character.charCodeAt(0)),
  );
}

/** Collapses whitespace and truncates a text to one line. */
export function oneLine(text: string, characters_max = 90): string {
  const line = visible(text.slice(0, 4 * characters_max + 200)).replace(/\s+/g, ' ').trim();
  const characters = Array.from(line);
  return characters.length > characters_max ? `${characters.slice(0, characters_max).join('')}…` : line;
}
