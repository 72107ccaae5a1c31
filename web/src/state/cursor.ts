// Where the cursor stands.

import { tick } from 'svelte';

/** Puts the cursor into the field where a message is written, if there is one. */
export async function focusComposer(): Promise<void> {
  await tick();
  document.querySelector<HTMLElement>('#composer-field')?.focus();
}
