// Translated names and descriptions of formats.

import { t, type TextKey } from '../../i18n/index.svelte';

/** The native format, JSON lines without loss. */
export const NATIVE = 'manent';

const KNOWN = ['manent', 'veloca', 'obsidian-rag', 'personalab', 'kode', 'conversation-tables', 'markdown', 'html'] as const;
type Known = (typeof KNOWN)[number];

function isKnown(name: string): name is Known {
  return (KNOWN as readonly string[]).includes(name);
}

/** Returns the translated name of a format, or its id if it is unknown. */
export function formatName(name: string): string {
  return isKnown(name) ? t(`format.${name}` satisfies TextKey) : name;
}

/** Returns the translated description of a format, or that of the server. */
export function formatAbout(name: string, about: string): string {
  return isKnown(name) ? t(`format.${name}.about` satisfies TextKey) : about;
}
