// User actions on conversations. Each sends the request, updates the page and shows a toast.

import { call, Problem, type Conversation, type ConversationId, type Hit, type Message, type MessageId, type UndoStep } from '../api';
import { t, type TextKey } from '../i18n/index.svelte';
import { stamp } from '../model/dates';
import { oneLine } from '../model/text';
import { withWords } from '../model/messages';
import { focusComposer } from './cursor';
import { dialogs } from './dialogs.svelte';
import { FindInConversation } from './findInConversation.svelte';
import { list } from './list.svelte';
import { route } from './route.svelte';
import { search } from './search.svelte';
import { toasts, type Action } from './toasts.svelte';
import { transcript } from './transcript.svelte';

/** Runs an action, shows its error, and returns whether it succeeded. */
async function attempt(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    toasts.problem(error);
    return false;
  }
}

function applyUpdate(conversation: Conversation): void {
  list.put(conversation);
  if (conversation.id === transcript.id) transcript.conversation = conversation;
}

let creating: Promise<Conversation | undefined> | undefined;

/** Creates a conversation and focuses the composer. Ignored while another is being created. */
export function createConversation(): Promise<Conversation | undefined> {
  creating ??= create().finally(() => (creating = undefined));
  return creating;
}

async function create(): Promise<Conversation | undefined> {
  let made: Conversation | undefined;
  await attempt(async () => {
    const title = t('list.newName', { time: stamp(new Date()) });
    made = await call('POST /conversations', { body: { title } });
    // Text typed now belongs to the new conversation, so it opens before the list is updated.
    transcript.show(made);
    route.go(made.id);
    dialogs.drawer = false;
    await focusComposer();
    search.close();
    if (list.status !== 'active') await list.show('active');
    list.put(made);
  });
  return made;
}

/** Renames a conversation. Throws errors, because the field shows them. */
export async function rename(conversation: Conversation, title: string): Promise<void> {
  const path = { conversation: conversation.id };
  applyUpdate(await call('POST /conversations/{conversation}/rename', { path, body: { title: title.trim() } }));
  toasts.say(t('conversation.renamed'));
}

export async function setPinned(conversation: Conversation, pinned: boolean): Promise<void> {
  await attempt(async () => {
    applyUpdate(await call('PATCH /conversations/{conversation}', { path: { conversation: conversation.id }, body: { pinned } }));
  });
}

export async function archive(conversation: Conversation): Promise<void> {
  const path = { conversation: conversation.id };
  await attempt(async () => {
    const beside = neighbour(conversation.id);
    const archived = await call('PATCH /conversations/{conversation}', { path, body: { status: 'archived' } });
    applyUpdate(archived);
    leave(conversation.id, beside);
    toasts.say(t('conversation.archived'), undoOf(archived, () => void restore(conversation)));
  });
}

export async function trash(conversation: Conversation): Promise<void> {
  await attempt(async () => {
    const beside = neighbour(conversation.id);
    const wasOpen = route.place.conversation === conversation.id;
    const trashed = await call('DELETE /conversations/{conversation}', { path: { conversation: conversation.id } });
    applyUpdate(trashed);
    // Deleting the last conversation creates a new one, which undo removes if it is unused.
    const isLast = wasOpen && list.status === 'active' && list.conversations.length === 0;
    const stopgap = isLast ? await createConversation() : undefined;
    if (!isLast) leave(conversation.id, beside);
    const act = (): void => void restoreAfter(conversation, stopgap, wasOpen);
    const title = oneLine(conversation.title || t('list.untitled'), 40);
    toasts.say(t('conversation.trashed', { title }), undoOf(trashed, act));
  });
}

async function restoreAfter(conversation: Conversation, stopgap: Conversation | undefined, open: boolean): Promise<void> {
  await restore(conversation);
  if (open) route.go(conversation.id);
  const unused = list.conversations.find((one) => one.id === stopgap?.id && one.messages === 0);
  if (unused) await attempt(async () => applyUpdate(await call('DELETE /conversations/{conversation}', { path: { conversation: unused.id } })));
}

export async function restore(conversation: Conversation): Promise<void> {
  const path = { conversation: conversation.id };
  await attempt(async () => {
    applyUpdate(await call('POST /conversations/{conversation}/restore', { path, body: {} }));
    toasts.say(t('conversation.restored'));
  });
}

export async function purge(conversation: Conversation): Promise<void> {
  const title = conversation.title || t('list.untitled');
  if (!(await dialogs.ask(t('conversation.purgeConfirm', { title }), t('conversation.purge'), 'bad'))) return;
  await attempt(async () => {
    const beside = neighbour(conversation.id);
    await call('POST /conversations/{conversation}/purge', { path: { conversation: conversation.id }, body: {} });
    list.drop(conversation.id);
    leave(conversation.id, beside);
    toasts.say(t('conversation.purged'));
  });
}

export async function clear(conversation: Conversation): Promise<void> {
  const title = oneLine(conversation.title || t('list.untitled'), 60);
  const more = t('conversation.clearMore', { title });
  if (!(await dialogs.ask(t('conversation.clearConfirm'), t('conversation.clear'), 'bad', more))) return;
  await attempt(async () => {
    const path = { conversation: conversation.id };
    const cleared = await call('POST /conversations/{conversation}/clear', { path, body: {} });
    list.put(cleared);
    await transcript.follow(cleared, new Set(['head_moved']));
    toasts.say(t('conversation.cleared'), undoOf(cleared, () => void takeBack(cleared)));
  });
}

/** Undoes or redoes the last change. */
export async function step(conversation: ConversationId, which: 'undo' | 'redo'): Promise<void> {
  await attempt(async () => {
    const what = changeName(transcript.id === conversation ? transcript.steps?.[which] : undefined);
    await stepped(await call(`POST /conversations/{conversation}/${which}`, { path: { conversation }, body: {} }), which, what);
  });
}

/** Undoes one commit, only if the conversation has not changed since. */
async function takeBack({ id, version }: Conversation): Promise<void> {
  await attempt(async () => {
    try {
      const path = { conversation: id };
      await stepped(await call('POST /conversations/{conversation}/undo', { path, body: {} }, { version }), 'undo');
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 412) throw error;
      toasts.warn(t('conversation.changedSince'));
    }
  });
}

async function stepped(conversation: Conversation, which: 'undo' | 'redo', what = ''): Promise<void> {
  list.put(conversation);
  await transcript.follow(conversation, new Set(['undone']));
  if (what === '') toasts.say(t(which === 'undo' ? 'conversation.undone' : 'conversation.redone'));
  else toasts.say(t(which === 'undo' ? 'conversation.undoneWhat' : 'conversation.redoneWhat', { what }));
}

/** Returns the translated name of the first change of a commit that has one. */
export function changeName(step: UndoStep | null | undefined): string {
  const known = step?.kinds.map((kind) => CHANGES.get(kind)).find((name) => name !== undefined);
  if (step == null) return '';
  return t(known ?? 'change.other');
}

const CHANGES = new Map<string, TextKey>([
  ['conversation_edited', 'change.conversation'],
  ['messages_appended', 'change.message'],
  ['branch_opened', 'change.edit'],
  ['head_moved', 'change.branch'],
  ['note_added', 'change.note'],
  ['note_removed', 'change.note'],
  ['bookmark_set', 'change.bookmark'],
  ['bookmark_removed', 'change.bookmark'],
  ['state_set', 'change.state'],
  ['fold_added', 'change.fold'],
  ['fold_switched', 'change.fold'],
]);

function undoOf({ id, version }: Conversation, act: () => void): Action {
  return { text: t('toast.undo'), act, change: { conversation: id, version } };
}

/** Replaces a message by an edited alternative at the same scroll position. */
export async function switchTo(conversation: ConversationId, message: MessageId, offset_px: number | undefined): Promise<void> {
  await attempt(async () => {
    const path = { conversation };
    applyUpdate(await call('POST /conversations/{conversation}/switch', { path, body: { message } }));
    await transcript.moveTo(message, offset_px);
  });
}

export async function editMessage(
  conversation: ConversationId,
  message: Message,
  text: string,
  tail: 'keep' | 'cut',
  offset_px: number | undefined,
): Promise<boolean> {
  const before = transcript.conversation?.version ?? 0;
  return attempt(async () => {
    const { role, author, model } = message;
    const body = { message: message.id, with: { role, author, model, parts: withWords(message.parts, text) }, tail };
    const { ids } = await call('POST /conversations/{conversation}/edit', { path: { conversation }, body });
    const [edited] = ids;
    if (edited !== undefined) await transcript.moveTo(edited, offset_px);
    const now = await call('GET /conversations/{conversation}', { path: { conversation } });
    list.put(now);
    // If another client committed meanwhile, undo could revert its change.
    const alone = now.version === before + 1;
    toasts.say(t('message.edited'), alone ? undoOf(now, () => void takeBack(now)) : undefined);
  });
}

export async function forkFrom(conversation: Conversation, message: MessageId): Promise<void> {
  await attempt(async () => {
    const title = t('message.forkName', { title: conversation.title || t('list.untitled') });
    const body = { after: message, conversation: { title } };
    const made = await call('POST /conversations/{conversation}/fork', { path: { conversation: conversation.id }, body });
    list.put(made);
    route.go(made.id);
    toasts.say(t('message.forked'));
  });
}

/** Opens the previous or next conversation. */
export function goBeside(direction: -1 | 1): void {
  const all = list.conversations;
  const index = all.findIndex((one) => one.id === route.place.conversation);
  const target = index === -1 ? all[0] : all[index + direction];
  if (target) route.go(target.id);
}

/** Returns the conversation to open when this one leaves the list. */
function neighbour(id: ConversationId): ConversationId | undefined {
  return list.conversations.find((one) => one.id !== id)?.id;
}

function leave(id: ConversationId, beside: ConversationId | undefined): void {
  if (route.place.conversation === id) route.go(beside);
}

/** Opens the message or conversation of a hit. */
export function showHit(hit: Hit, step: 'push' | 'replace' = 'push'): void {
  const message = hit.message ?? undefined;
  dialogs.drawer = false;
  const { place } = route;
  if (place.conversation === hit.conversation && place.message === message) {
    // It is open already, but may be scrolled out of view.
    if (message !== undefined) void transcript.moveTo(message, undefined);
  } else if (step === 'push') route.go(hit.conversation, message);
  else route.replace(hit.conversation, message);
}

export const findInConversation = new FindInConversation((hit) => showHit(hit, 'replace'));
