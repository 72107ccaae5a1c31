// The rules for names that people type; the server has the same ones and the last word.

/** Why a name cannot be given; the codes are those of the server. */
export type NameProblem = 'name_empty' | 'name_length' | 'name_characters';

export const NAME_CHARACTERS_MAX = 50;

const FORBIDDEN = /[/\\:*?"<>|\p{Cc}]/gu;

/** Checks a name and returns what is wrong with it, if anything is. Characters that the current name has may stay. */
export function nameProblem(name: string, current = ''): NameProblem | undefined {
  const trimmed = name.trim();
  if (trimmed === '') return 'name_empty';
  if (charactersUpTo(trimmed, NAME_CHARACTERS_MAX + 1) > NAME_CHARACTERS_MAX) return 'name_length';
  if (forbiddenIn(trimmed, current) !== undefined) return 'name_characters';
  return undefined;
}

/** Returns the first character that a name cannot have, unless the current name has it. */
export function forbiddenIn(name: string, current: string): string | undefined {
  return name.trim().match(FORBIDDEN)?.find((character) => !current.includes(character));
}

/** Says whether a code is one of the name rules. */
export function isNameProblem(code: string): code is NameProblem {
  return code === 'name_empty' || code === 'name_length' || code === 'name_characters';
}

/** Counts characters as a reader does, and stops when there are enough. */
function charactersUpTo(text: string, enough: number): number {
  let count = 0;
  for (const _ of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text)) {
    count += 1;
    if (count >= enough) break;
  }
  return count;
}
