// Which name is being edited, and where: in the list or in the header.

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
