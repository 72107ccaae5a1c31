//! What is attached to conversations and messages, and what runs write.

use super::*;

impl Generator {
    pub(super) fn note(&mut self, model: &Model) -> Change {
        let known = model.data.threads.iter().flat_map(|thread| &thread.notes).map(|note| note.value.id).collect();
        match self.chance.once_in(3) {
            true => Change::RemoveNote { id: self.known_or_new(known, NoteId::new) },
            false => Change::AddNote {
                id: self.new_or_known(known, NoteId::new),
                message: self.message(model),
                kind: self.chance.word(),
                value: self.chance.json(),
            },
        }
    }

    pub(super) fn bookmark(&mut self, model: &Model) -> Change {
        let conversation = self.conversation(model);
        match self.chance.once_in(4) {
            true => Change::RemoveBookmark { conversation, name: self.chance.word() },
            false => Change::SetBookmark {
                conversation,
                name: if self.chance.once_in(200) { "n".repeat(70_000) } else { self.chance.word() },
                head: self.maybe_message_of(model, conversation),
                metadata: self.chance.maybe(Chance::json),
            },
        }
    }

    pub(super) fn set_state(&mut self, model: &Model) -> Change {
        let conversation = self.conversation(model);
        let after = self.maybe_message_of(model, conversation);
        let value = (!self.chance.once_in(4)).then(|| self.chance.json());
        Change::SetState { conversation, name: self.chance.word(), after, value }
    }

    fn stretches(&mut self, model: &Model, conversation: ConversationId) -> Vec<MessageRange> {
        (0..self.chance.number(..3)).map(|_| self.stretch(model, conversation)).collect()
    }

    /// Chooses the end of the path, mostly, so that stretches lie before it.
    fn late(&mut self, model: &Model, conversation: ConversationId) -> MessageId {
        let head = model.data.any_thread(conversation).and_then(|thread| thread.head.at);
        let any = self.message_of(model, conversation);
        head.filter(|_| !self.chance.once_in(4)).unwrap_or(any)
    }

    pub(super) fn fold(&mut self, model: &Model) -> Change {
        let known = model.data.threads.iter().flat_map(|thread| &thread.folds).map(|fold| fold.value.id).collect();
        if self.chance.once_in(3) {
            let fold = self.known_or_new(known, FoldId::new);
            return Change::SetFoldActive { fold, active: self.chance.once_in(2) };
        }
        let conversation = self.conversation(model);
        let fold = NewFold {
            id: self.new_or_known(known, FoldId::new),
            after: self.late(model, conversation),
            kind: self.chance.of([FoldKind::Summary, FoldKind::Drop, FoldKind::ToolClear]),
            covers: self.stretches(model, conversation),
            summary: self.chance.maybe(Chance::text),
            parent: self.chance.once_in(5).then(|| self.chance.id(FoldId::new)),
            made_by: self.chance.maybe(Chance::json),
        };
        Change::AddFold { conversation, fold }
    }

    pub(super) fn record_call(&mut self, model: &Model) -> Change {
        let known = model.data.threads.iter().flat_map(|thread| &thread.calls).map(|call| call.value.id).collect();
        let conversation = self.conversation(model);
        let after = (!self.chance.once_in(5)).then(|| self.late(model, conversation));
        let sent = self.stretches(model, conversation);
        let id = self.new_or_known(known, CallId::new);
        let chance = &mut self.chance;
        let call = Call {
            id,
            after,
            model: chance.maybe(Chance::word),
            outcome: chance.of([CallOutcome::Answered, CallOutcome::Failed, CallOutcome::Stopped]),
            tokens_in: chance.maybe(|chance| chance.of([0, 7, i64::MAX, i64::MIN])),
            tokens_out: chance.maybe(|chance| chance.number(..90) as i64),
            cost_micros: chance.maybe(|chance| chance.number(..90) as i64),
            sent,
            manifest: chance.maybe(Chance::json),
            at: chance.time(),
        };
        Change::RecordCall { conversation, call }
    }

    pub(super) fn tool_call(&mut self, model: &Model) -> Change {
        let known: Vec<(MessageId, u32)> =
            model.data.threads.iter().flat_map(|thread| thread.tools.keys().copied()).collect();
        let any = (self.message(model), self.chance.of([0, 1, u32::MAX]));
        let old = self.chance.pick(&known).filter(|_| !self.chance.once_in(12)).unwrap_or(any);
        let new = self.chance.pick(&known).filter(|_| self.chance.once_in(12)).unwrap_or(any);
        let chance = &mut self.chance;
        let call = ToolCall {
            message: new.0,
            part: new.1,
            call_id: chance.word(),
            name: chance.word(),
            state: chance.of([ToolState::Pending, ToolState::Pending, ToolState::Executing, ToolState::Completed]),
            record: chance.json(),
        };
        match chance.number(..6) {
            0..2 => Change::PutToolCall { call, note: chance.text() },
            2 => {
                let steps = (0..chance.number(..4)).map(|_| ToolStep {
                    state: chance.of(ToolState::ALL),
                    at: chance.time(),
                    actor: chance.maybe(Chance::author),
                    note: chance.text(),
                });
                let steps = steps.collect();
                let instead_of = chance.maybe(|_| ToolPart { message: old.0, part: old.1 });
                let at = if chance.once_in(2) { old } else { new };
                Change::PutToolTrail { call: ToolCall { message: at.0, part: at.1, ..call }, steps, instead_of }
            }
            _ => Change::MoveToolCall {
                message: old.0,
                part: old.1,
                to: chance.of(ToolState::ALL),
                record: chance.maybe(Chance::json),
                note: chance.text().chars().take(400).collect(),
            },
        }
    }

    pub(super) fn append_events(&mut self, model: &Model) -> Change {
        let conversation = self.conversation(model);
        let chance = &mut self.chance;
        let events = (0..chance.number(..5)).map(|_| NewEvent {
            channel: chance.word(),
            at: chance.time(),
            body: chance.json(),
        });
        Change::AppendEvents { events: events.collect(), conversation }
    }

    pub(super) fn input(&mut self, model: &Model) -> Change {
        let conversation = self.conversation(model);
        let of_thread = model.data.any_thread(conversation).map(|thread| &thread.inputs[..]).unwrap_or_default();
        let known: Vec<InputId> = of_thread.iter().map(|input| input.value.id).collect();
        match self.chance.once_in(2) {
            true => {
                let body = self.chance.json();
                Change::PutInput { conversation, id: self.new_or_known(known, InputId::new), body }
            }
            false => {
                let waiting = of_thread.iter().filter(|input| !input.value.taken && !input.withdrawn);
                let waiting: Vec<InputId> = waiting.map(|input| input.value.id).collect();
                let mut ids = self.chance.sub_list(&waiting, 2);
                if self.chance.once_in(4) {
                    ids.push(self.known_or_new(known, InputId::new));
                }
                Change::TakeInputs { conversation, ids }
            }
        }
    }

    pub(super) fn lease(&mut self, model: &Model) -> Change {
        let conversation = self.conversation(model);
        let held = model.data.any_thread(conversation).and_then(|thread| thread.lease.as_ref());
        let token = held.filter(|_| !self.chance.once_in(5)).map_or(1, |lease| lease.token);
        let until = self.chance.time();
        match self.chance.number(..4) {
            0 => Change::RenewLease { conversation, token, until },
            1 => Change::ReleaseLease { conversation, token },
            _ => Change::TakeLease { conversation, owner: self.chance.of(["one", "two", "三", ""]).to_owned(), until },
        }
    }
}
