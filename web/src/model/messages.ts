// Pure functions over messages.

import type { BranchInfo, Message, MessageId, Part } from '../api';

/** Returns the text of a message, for copying and editing. */
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

/** Returns whether a message can be edited: it is complete and has exactly one text part. */
export function isEditable(message: Message): boolean {
  return (
    message.erased !== true &&
    message.status !== 'streaming' &&
    message.parts.filter((part) => part.type === 'text').length === 1
  );
}

/** Returns the parts of a message with its text replaced. */
export function withWords(parts: Part[], text: string): Part[] {
  return parts.map((part) => (part.type === 'text' ? { ...part, text } : part));
}

/**
 * Returns the messages of a path that may have alternatives: those that follow a fork.
 *
 * Only these need a request. A message whose predecessor is not loaded is returned once it is.
 */
export function atForks(messages: Message[], branches: BranchInfo[], startsAtFirst: boolean): MessageId[] {
  const forks = new Set<MessageId | null>(
    branches
      .filter((branch) => branch.reason !== 'start' && branch.reason !== 'withdrawal')
      .map((branch) => branch.fork ?? null),
  );
  return messages
    .filter((_, index) => {
      const before = messages[index - 1]?.id ?? null;
      return (index > 0 || startsAtFirst) && forks.has(before);
    })
    .map((message) => message.id);
}

/** Returns whether a message is shown without a header: a tool message after a tool message of the same author. */
export function isJoined(message: Message | undefined, before: Message | undefined): boolean {
  return message?.role === 'tool' && before?.role === 'tool' && message.author?.id === before.author?.id;
}
