//! Messages, branches, heads.

use super::*;

impl Generator {
    /// The bytes of a blob and how a message names it.
    pub(super) fn blob(&mut self) -> Vec<u8> {
        self.chance.pick(&self.blobs.clone()).expect("there are some")
    }

    fn body(&mut self) -> Body {
        let odd =
            [r#"[{"type":"text","text":"\ud800"}]"#, r#"[{"type":"text" , "text":"a","text":"b"}]"#, "[]", "[1,{}]"];
        if self.chance.once_in(10) {
            return Body::parse(self.chance.of(odd)).expect("written as parts");
        }
        let mut parts = vec![Part::text(self.chance.text())];
        match self.chance.number(..10) {
            0 => parts.push(Part::ToolCall {
                id: "call".to_owned(),
                name: self.chance.word(),
                input: self.chance.json(),
                extra: Vec::new(),
            }),
            1 => parts.push(Part::Media {
                mime: "image/png".to_owned(),
                blob: Some(hex::encode(&sha256(&self.blob()))),
                extra: Vec::new(),
            }),
            2 => parts.push(Part::Summary { text: self.chance.text(), extra: Vec::new() }),
            _ => {}
        }
        Body::of(&parts)
    }

    fn new_message(&mut self, model: &Model, conversation: ConversationId) -> NewMessage {
        let role = match self.chance.once_in(300) {
            true => "r".repeat(70_000),
            false => self.chance.of(["user", "assistant", "bot", "tool", "", "角色"]).to_owned(),
        };
        let known = self.chance.of([TimeSource::Exact, TimeSource::Exact, TimeSource::File, TimeSource::Unknown]);
        let time = Time { at: self.chance.time(), source: known };
        let mut content = Content::new(role, time, self.body());
        let chance = &mut self.chance;
        content.author = if chance.once_in(3) { Some(chance.author()) } else { None };
        content.status = match chance.number(..10) {
            0..2 => MessageStatus::Streaming,
            2 => chance.of([MessageStatus::Failed, MessageStatus::Incomplete]),
            _ => MessageStatus::Complete,
        };
        content.seen = Visibility { by_reader: !chance.once_in(10), by_model: !chance.once_in(10) };
        content.turn = chance.maybe(|chance| chance.of([0, 1, u32::MAX]));
        content.model = chance.maybe(|chance| chance.of(["model", "模型", ""]).to_owned());
        content.tokens = chance.maybe(|chance| chance.number(..50) as u32);
        content.usage = if chance.once_in(4) { Some(chance.json()) } else { None };
        content.metadata = if chance.once_in(4) { Some(chance.json()) } else { None };
        if self.chance.once_in(5) {
            content.reply_to = Some(self.message_of(model, conversation));
        }
        // An id that is taken makes a retry or a conflict.
        let id = match self.chance.once_in(60) {
            true => self.message_of(model, conversation),
            false => self.chance.id(MessageId::new),
        };
        NewMessage { id, content }
    }

    fn new_messages(&mut self, model: &Model, conversation: ConversationId, least: usize) -> Vec<NewMessage> {
        let most = self.chance.of([1, 1, 2, 4]);
        let mut messages: Vec<NewMessage> =
            (0..self.chance.number(least..=most)).map(|_| self.new_message(model, conversation)).collect();
        if self.chance.once_in(80)
            && let Some(first) = messages.first().cloned()
        {
            messages.push(first);
        }
        messages
    }

    pub(super) fn append(&mut self, model: &Model) -> Change {
        let conversation = self.conversation(model);
        let branch = self.new_branch(model, conversation);
        let at = match self.chance.number(..20) {
            0..2 => MessageAt::After { message: self.maybe_message_of(model, conversation), branch },
            2..4 => MessageAt::InsteadOf { message: self.message_of(model, conversation), branch },
            4..7 => MessageAt::Branch { branch: self.branch_of(model, conversation) },
            _ => MessageAt::Head { branch },
        };
        let least = usize::from(!self.chance.once_in(60));
        let messages = self.new_messages(model, conversation, least);
        let origins = self.origins(model, &messages);
        let head = if self.chance.once_in(6) { HeadMove::Stay } else { HeadMove::Follow };
        let why =
            self.chance.of([BranchReason::Fork, BranchReason::Retry, BranchReason::Withdrawal, BranchReason::Import]);
        Change::AppendMessages { conversation, at, head, why, messages, origins }
    }

    fn origins(&mut self, model: &Model, messages: &[NewMessage]) -> Vec<MessageOrigin> {
        let mut origins = Vec::new();
        for message in messages {
            if self.chance.once_in(5) {
                origins.push(MessageOrigin {
                    message: message.id,
                    source: self.source(model),
                    ordinal: self.chance.number(..9) as i64,
                    external: self.chance.maybe(Chance::word),
                    raw: self.chance.maybe(|chance| format!("{} {}", message.content.body.text(), chance.text())),
                });
            }
        }
        origins
    }

    /// Chooses a message that still streams, mostly.
    fn streaming(&mut self, model: &Model) -> MessageId {
        let all = model.data.threads.iter().flat_map(|thread| thread.messages.values());
        let streaming = all.filter(|kept| kept.content.status == MessageStatus::Streaming);
        let ids: Vec<MessageId> = streaming.map(|kept| kept.id).collect();
        let any = self.message(model);
        self.chance.pick(&ids).filter(|_| !self.chance.once_in(8)).unwrap_or(any)
    }

    pub(super) fn append_chunk(&mut self, model: &Model) -> Change {
        Change::AppendChunk { message: self.streaming(model), delta: self.chance.text() }
    }

    pub(super) fn finish(&mut self, model: &Model) -> Change {
        use MessageStatus::{Complete, Failed, Incomplete, Streaming};
        let message = self.streaming(model);
        let finish = Finish {
            status: self.chance.of([Complete, Complete, Complete, Incomplete, Failed, Failed, Streaming]),
            body: self.chance.maybe(|_| ()).map(|()| self.body()),
            tokens: self.chance.maybe(|chance| chance.number(..90) as u32),
            usage: self.chance.maybe(Chance::json),
        };
        Change::FinishMessage { message, finish }
    }

    pub(super) fn stretch(&mut self, model: &Model, conversation: ConversationId) -> MessageRange {
        let first = self.message_of(model, conversation);
        let path = model.data.any_thread(conversation).map(|thread| model.data.path(thread.head)).unwrap_or_default();
        let place = path.iter().position(|id| *id == first);
        let last = match place {
            Some(place) if !self.chance.once_in(10) => path[(place + self.chance.number(..4)).min(path.len() - 1)],
            _ => self.message_of(model, conversation),
        };
        MessageRange { first, last }
    }

    pub(super) fn open_branch(&mut self, model: &Model) -> Change {
        let conversation = self.conversation(model);
        let from = if self.chance.once_in(2) { conversation } else { self.conversation(model) };
        let base = (!self.chance.once_in(4)).then(|| {
            let parent = self.branch_of(model, from);
            let path = model.data.branch(parent).map(|(_, branch)| branch.path()).unwrap_or_default();
            let fork = match self.chance.once_in(10) {
                true => self.maybe_message_of(model, from),
                false => self.chance.pick(&path),
            };
            BranchBase { parent, fork }
        });
        let own = if self.chance.once_in(2) { self.new_messages(model, conversation, 0) } else { Vec::new() };
        let mut pieces: Vec<MessageRange> = (0..self.chance.number(..3)).map(|_| self.piece(model, from)).collect();
        if let (Some(first), Some(last), false) = (own.first(), own.last(), pieces.is_empty()) {
            // Own messages are inside the ranges, unless the importer left them out.
            if !self.chance.once_in(5) {
                let place = self.chance.number(..=pieces.len());
                pieces.insert(place, MessageRange { first: first.id, last: last.id });
            }
        }
        let branch = self.new_branch(model, conversation);
        let (why, origins) = (self.chance.of([BranchReason::Fork, BranchReason::Import]), self.origins(model, &own));
        Change::OpenBranch { conversation, branch, base, own, pieces, why, origins }
    }

    /// A run of one branch, mostly.
    fn piece(&mut self, model: &Model, conversation: ConversationId) -> MessageRange {
        let branch = self.branch_of(model, conversation);
        let own = model.data.branch(branch).map(|(_, branch)| branch.own.clone()).unwrap_or_default();
        match own.is_empty() || self.chance.once_in(8) {
            true => self.stretch(model, conversation),
            false => {
                let first = self.chance.number(..own.len());
                let last = self.chance.number(first..own.len());
                MessageRange { first: own[first], last: own[last] }
            }
        }
    }

    pub(super) fn splice(&mut self, model: &Model) -> Change {
        let conversation = self.conversation(model);
        let at = match self.chance.once_in(2) {
            true => SplicePosition::After(self.maybe_message_of(model, conversation)),
            false => SplicePosition::Replace(self.stretch(model, conversation)),
        };
        let messages = self.new_messages(model, conversation, 0);
        let origins = self.origins(model, &messages);
        Change::Splice { conversation, branch: self.new_branch(model, conversation), at, messages, origins }
    }

    pub(super) fn move_head(&mut self, model: &Model) -> Change {
        let conversation = self.conversation(model);
        let to = match self.chance.number(..12) {
            0 => HeadTarget::Empty(self.new_branch(model, conversation)),
            1..4 => HeadTarget::End(self.branch_of(model, conversation)),
            4..7 => {
                let branch = self.branch_of(model, conversation);
                let path = model.data.branch(branch).map(|(_, branch)| branch.path()).unwrap_or_default();
                let message = match self.chance.once_in(6) {
                    true => self.maybe_message_of(model, conversation),
                    false => self.chance.pick(&path),
                };
                HeadTarget::On { branch, message }
            }
            _ => HeadTarget::Message(self.message_of(model, conversation)),
        };
        Change::MoveHead { conversation, to }
    }
}

/// Returns how a blob is named.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).into()
}
