// Questions that wait for an answer, and the dialogs that only one of can be open.

/** A question. */
export interface Question {
  text: string;
  yes: string;
  tone: 'plain' | 'bad';
  answer: (yes: boolean) => void;
}

class Dialogs {
  question: Question | undefined = $state();
  keys = $state(false);
  drawer = $state(false);

  /** Asks, and resolves with the answer; Esc is a no. */
  ask(text: string, yes: string, tone: Question['tone'] = 'plain'): Promise<boolean> {
    this.question?.answer(false);
    return new Promise((resolve) => {
      this.question = {
        text,
        yes,
        tone,
        answer: (given) => {
          this.question = undefined;
          resolve(given);
        },
      };
    });
  }
}

export const dialogs = new Dialogs();
