// What formats are called and what they hold, in the language of the reader.

import { t, type TextKey } from '../../i18n/index.svelte';

/** Manent's own JSON lines, which hold everything. */
export const NATIVE = 'manent';

const KNOWN = ['manent', 'veloca', 'obsidian-rag', 'personalab', 'kode', 'conversation-tables', 'markdown', 'html'] as const;
type Known = (typeof KNOWN)[number];

function isKnown(name: string): name is Known {
  return (KNOWN as readonly string[]).includes(name);
}

/** The name of a format; one that this page does not know is called as the server calls it. */
export function formatName(name: string): string {
  return isKnown(name) ? t(`format.${name}` satisfies TextKey) : name;
}

/** What a format is; the words of the server where this page has none. */
export function formatAbout(name: string, about: string): string {
  return isKnown(name) ? t(`format.${name}.about` satisfies TextKey) : about;
}
