// Questions about messages that need no server.

import type { BranchInfo, Message, MessageId, Part } from '../api';

/** Returns the words of a message, for copying and editing. */
export function wordsOf(message: Message): string {
  return message.parts
    .filter((part) => part.type === 'text' || part.type === 'summary' || part.type === 'error')
    .map(textOf)
    .join('\n\n');
}

/** Returns the text of a part, or nothing if it has none. */
export function textOf(part: Part): string {
  return typeof part.text === 'string' ? part.text : '';
}

/** Says whether people can edit a message: it says its words in one place. */
export function isEditable(message: Message): boolean {
  return (
    message.erased !== true &&
    message.status !== 'streaming' &&
    message.parts.filter((part) => part.type === 'text').length === 1
  );
}

/** Returns the parts of a message with other words in it. */
export function withWords(parts: Part[], text: string): Part[] {
  return parts.map((part) => (part.type === 'text' ? { ...part, text } : part));
}

/**
 * Finds the messages of a path that may have alternatives: those behind a message at which a branch left.
 *
 * Only these are worth a request. A message whose predecessor is not loaded is found when that one is.
 */
export function atForks(messages: Message[], branches: BranchInfo[], startsAtFirst: boolean): MessageId[] {
  const forks = new Set<MessageId | null>(
    branches
      .filter((branch) => branch.why !== 'start' && branch.why !== 'withdrawn')
      .map((branch) => branch.fork ?? null),
  );
  return messages
    .filter((_, index) => {
      const before = messages[index - 1]?.id ?? null;
      return (index > 0 || startsAtFirst) && forks.has(before);
    })
    .map((message) => message.id);
}

/** Says whether a message needs no header of its own: a tool that goes on after a tool. Everybody else is named. */
export function isJoined(message: Message | undefined, before: Message | undefined): boolean {
  return message?.role === 'tool' && before?.role === 'tool' && message.author?.id === before.author?.id;
}
