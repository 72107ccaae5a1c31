// Which name is being edited, and where: the same conversation stands in the list and above its messages.

import type { ConversationId } from '../api';

class Renaming {
  id: ConversationId | undefined = $state();
  where: 'list' | 'header' = $state('list');

  begin(id: ConversationId, where: 'list' | 'header'): void {
    this.id = id;
    this.where = where;
  }

  end(): void {
    this.id = undefined;
  }
}

export const renaming = new Renaming();
