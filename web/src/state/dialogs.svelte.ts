// Open dialogs; one of each kind at a time.

import type { Conversation } from '../api';

/** A confirmation. */
export interface Question {
  text: string;
  /** Details, such as how to undo it. */
  more: string | undefined;
  yes: string;
  tone: 'plain' | 'bad';
  answer: (yes: boolean) => void;
}

class Dialogs {
  question: Question | undefined = $state();
  keys = $state(false);
  /** The search help is open. */
  searchHelp = $state(false);
  drawer = $state(false);
  /** The target of the export dialog: one conversation, or all. */
  exporting: { conversation: Conversation | undefined } | undefined = $state.raw();

  /** Asks for confirmation. Esc resolves with false. */
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

  /** Closes all dialogs, after navigation. */
  close(): void {
    this.question?.answer(false);
    this.keys = this.searchHelp = false;
    this.exporting = undefined;
    this.drawer = false;
  }
}

export const dialogs = new Dialogs();
