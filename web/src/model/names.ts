// Rules for conversation names. The server applies the same rules and decides.

/** The reason why a name is refused, by the code of the server. */
export type NameProblem = 'name_empty' | 'name_length' | 'name_characters';

export const NAME_CHARACTERS_MAX = 50;

const FORBIDDEN = /[/\\:*?"<>|\p{Cc}]/gu;

/** Checks a name and returns the first rule that it breaks. Characters of the current name are allowed. */
export function nameProblem(name: string, current = ''): NameProblem | undefined {
  const trimmed = name.trim();
  if (trimmed === '') return 'name_empty';
  if (charactersUpTo(trimmed, NAME_CHARACTERS_MAX + 1) > NAME_CHARACTERS_MAX) return 'name_length';
  if (forbiddenIn(trimmed, current) !== undefined) return 'name_characters';
  return undefined;
}

/** Returns the first forbidden character that the current name does not contain. */
export function forbiddenIn(name: string, current: string): string | undefined {
  return name.trim().match(FORBIDDEN)?.find((character) => !current.includes(character));
}

/** Says whether a code is one of the name rules. */
export function isNameProblem(code: string): code is NameProblem {
  return code === 'name_empty' || code === 'name_length' || code === 'name_characters';
}

/** Counts grapheme clusters, up to a limit. */
function charactersUpTo(text: string, enough: number): number {
  let count = 0;
  for (const _ of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text)) {
    count += 1;
    if (count >= enough) break;
  }
  return count;
}
