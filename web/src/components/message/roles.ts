// Display names of roles.

import { t, type TextKey } from '../../i18n/index.svelte';
import { oneLine } from '../../model/text';

const ROLES: Record<string, TextKey> = {
  user: 'role.user',
  assistant: 'role.assistant',
  system: 'role.system',
  tool: 'role.tool',
};

/** Returns the translated name of a role, or the role itself if it is unknown. */
export function roleName(role: string): string {
  const known = Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
  return known ? t(known) : oneLine(role, 30);
}
