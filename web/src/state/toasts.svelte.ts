// Toasts.

import { isAborted, Problem, type Conversation, type ConversationId } from '../api';
import { t } from '../i18n/index.svelte';
import { isNameProblem } from '../model/names';

/** A toast. */
export interface Toast {
  id: number;
  text: string;
  tone: 'plain' | 'bad';
  action?: Action;
}

/** The action of a toast. */
export interface Action {
  text: string;
  act: () => void;
  /** The commit that it undoes. It is removed once the conversation changes again. */
  change?: { conversation: ConversationId; version: number };
}

const SHOWN_MS = 4000;
const SHOWN_WITH_ACTION_MS = 10_000;

class Toasts {
  all: Toast[] = $state([]);
  #last = 0;

  say(text: string, action?: Action): void {
    this.#show({ text, tone: 'plain', ...(action ? { action } : {}) });
  }

  warn(text: string): void {
    this.#show({ text, tone: 'bad' });
  }

  /** Shows an error, unless the request was aborted. */
  problem(error: unknown): void {
    if (!isAborted(error)) this.warn(problemText(error));
  }

  dismiss(id: number): void {
    this.all = this.all.filter((toast) => toast.id !== id);
  }

  /** Removes undo actions of commits that are no longer the newest of a conversation. */
  saw(conversation: Conversation): void {
    const isOld = ({ action }: Toast): boolean =>
      action?.change?.conversation === conversation.id && action.change.version < conversation.version;
    if (this.all.some(isOld)) this.all = this.all.filter((toast) => !isOld(toast));
  }

  #show(toast: Omit<Toast, 'id'>): void {
    this.#last += 1;
    const id = this.#last;
    this.all = [...this.all.slice(-2), { ...toast, id }];
    setTimeout(() => this.dismiss(id), toast.action ? SHOWN_WITH_ACTION_MS : SHOWN_MS);
  }
}

export const toasts = new Toasts();

/** Returns the translated text of an error. */
export function problemText(error: unknown): string {
  const problem = Problem.thrown(error);
  if (isNameProblem(problem.code)) return t(`name.${problem.code}`);
  if (problem.code === 'nothing_to_undo') return t('problem.nothing_to_undo');
  if (problem.code === 'nothing_to_redo') return t('problem.nothing_to_redo');
  return t(`problem.${problem.reach}`, { detail: problem.detail });
}
