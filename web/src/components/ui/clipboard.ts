// Copying, also where the page is not served securely and browsers hide the clipboard.

import { t, type TextKey } from '../../i18n/index.svelte';
import { toasts } from '../../state/toasts.svelte';

/** Copies a text and says so; returns whether it went well. */
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
