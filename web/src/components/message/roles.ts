// What a role is called.

import { t, type TextKey } from '../../i18n/index.svelte';
import { oneLine } from '../../model/text';

const ROLES: Record<string, TextKey> = {
  user: 'role.user',
  assistant: 'role.assistant',
  system: 'role.system',
  tool: 'role.tool',
};

/** Returns the name of a role in the reader's language; of a role that only its program knows, the role. */
export function roleName(role: string): string {
  const known = Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
  return known ? t(known) : oneLine(role, 30);
}
