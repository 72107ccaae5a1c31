// Keyboard focus.

import { tick } from 'svelte';

/** Focuses the composer, if there is one. */
export async function focusComposer(): Promise<void> {
  await tick();
  document.querySelector<HTMLElement>('#composer-field')?.focus();
}
