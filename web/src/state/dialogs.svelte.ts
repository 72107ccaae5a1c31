// Questions that wait for an answer, and the dialogs that only one of can be open.

import type { Conversation } from '../api';

/** A question. */
export interface Question {
  text: string;
  /** What it is about, and what can be done about it afterwards. */
  more: string | undefined;
  yes: string;
  tone: 'plain' | 'bad';
  answer: (yes: boolean) => void;
}

class Dialogs {
  question: Question | undefined = $state();
  keys = $state(false);
  /** How to search. */
  searchHelp = $state(false);
  drawer = $state(false);
  /** What is to be exported: one conversation, or all. */
  exporting: { conversation: Conversation | undefined } | undefined = $state.raw();

  /** Asks, and resolves with the answer; Esc is a no. */
  ask(text: string, yes: string, tone: Question['tone'] = 'plain', more?: string): Promise<boolean> {
    this.question?.answer(false);
    return new Promise((resolve) => {
      this.question = {
        text,
        more,
        yes,
        tone,
        answer: (given) => {
          this.question = undefined;
          resolve(given);
        },
      };
    });
  }

  /** Closes everything: what stood behind it is another place now. */
  close(): void {
    this.question?.answer(false);
    this.keys = this.searchHelp = false;
    this.exporting = undefined;
    this.drawer = false;
  }
}

export const dialogs = new Dialogs();
