// Copies text, also on insecure origins, where browsers offer no clipboard API.

import { t, type TextKey } from '../../i18n/index.svelte';
import { toasts } from '../../state/toasts.svelte';

/** Copies a text, shows a toast, and returns whether it succeeded. */
export async function copy(text: string, done: TextKey | undefined): Promise<boolean> {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copyBySelection(text);
    if (done) toasts.say(t(done));
    return true;
  } catch {
    toasts.warn(t('message.copyFailed'));
    return false;
  }
}

function copyBySelection(text: string): void {
  const field = document.createElement('textarea');
  const focused = document.activeElement;
  field.value = text;
  field.className = 'hidden-visually';
  document.body.append(field);
  field.select();
  const copied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!copied) throw new Error('the browser refused');
}
