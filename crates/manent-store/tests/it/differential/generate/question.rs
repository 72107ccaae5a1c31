//! Questions of every kind.

use super::message::sha256;
use super::*;

impl Generator {
    pub(super) fn question(&mut self, model: &Model) -> Question {
        let conversation = self.conversation(model);
        match self.chance.number(..60) {
            0 => {
                let keys: Vec<Vec<u8>> = self.sent.iter().filter_map(|transaction| transaction.key.clone()).collect();
                Question::RequestAt(self.chance.pick(&keys).unwrap_or_else(|| b"nothing".to_vec()))
            }
            1 => Question::Conversation(self.external_ref()),
            2..8 => Question::Conversation(ConversationRef::Id(conversation)),
            8..13 => Question::List(self.list_query(model)),
            13 => Question::Count(self.list_query(model)),
            14 if self.chance.once_in(2) => Question::LastChanged,
            14 => Question::Ids { after: self.chance.once_in(2).then_some(conversation), limit: self.chance.limit() },
            15 => self.prefix(model),
            16..18 => Question::Branches(conversation),
            18..27 => self.window(model, conversation),
            27..33 => self.messages_query(model, conversation),
            33..36 => Question::Annotations(conversation),
            36..39 => {
                let at = self.chance.once_in(2).then(|| self.message_of(model, conversation));
                Question::State { conversation, name: self.chance.word(), at }
            }
            39 => Question::OpenToolCalls(self.chance.limit()),
            40..42 => {
                let channels = (0..self.chance.number(..3)).map(|_| self.chance.word()).collect();
                let after = self.chance.of([0, 1, 5, -7, i64::MAX]);
                Question::Events(EventsQuery { conversation, channels, after, limit: self.chance.limit() })
            }
            42..44 => self.documents_query(),
            44..46 => self.memories_query(model),
            46 => Question::Project(self.project(model)),
            47 => Question::Projects,
            48 => {
                let (kind, id, actor) = self.scratch_name(model);
                let chance = &mut self.chance;
                let (kind, id) = (chance.maybe(|_| kind), chance.maybe(|_| id));
                Question::Scratch(ScratchQuery { kind, id, actor: chance.maybe(|_| actor) })
            }
            49 => Question::Blob(sha256(&self.blob())),
            50 => Question::Blobs,
            51 => Question::Sources,
            52 => Question::Origins(match self.chance.number(..3) {
                0 => OriginsQuery::Source(self.source(model)),
                1 => OriginsQuery::Object(OriginObject::Conversation(conversation)),
                _ => OriginsQuery::External(self.chance.word()),
            }),
            53 => Question::MessageOrigins((0..self.chance.number(..4)).map(|_| self.message(model)).collect()),
            54 => Question::Quarantined(self.source(model)),
            55..57 => {
                let after = self.chance.number(..model.data.next() as usize + 3) as i64;
                let after = self.chance.of([0, after, after, -1]);
                let conversation = self.chance.once_in(2).then_some(conversation);
                Question::Journal(JournalQuery { after, conversation, limit: self.chance.limit() })
            }
            57..59 => {
                Question::UndoTarget(self.scope(model), self.chance.of([UndoDirection::Undo, UndoDirection::Redo]))
            }
            _ => {
                let query = match self.chance.number(..6) {
                    0 => StatsQuery::default(),
                    1 => StatsQuery::project(self.project(model)),
                    2 => StatsQuery { tag: Some(self.chance.word()), ..StatsQuery::default() },
                    3 => StatsQuery { tag: Some(self.chance.word()), ..StatsQuery::project(self.project(model)) },
                    _ => StatsQuery::conversation(conversation),
                };
                // The clock of the model is a few days after 1970; imported times are arbitrary.
                let mut day = || self.chance.once_in(3).then(|| Day(self.chance.number(..4) as i64 - 1));
                let (since, until) = (day(), day());
                Question::Stats(StatsQuery { since, until, ..query })
            }
        }
    }

    fn prefix(&mut self, model: &Model) -> Question {
        let (kind, whole) = match self.chance.number(..3) {
            0 => (IdKind::Conversation, self.conversation(model).to_string()),
            1 => (IdKind::Message, self.message(model).to_string()),
            _ => (IdKind::Project, self.project(model).to_string()),
        };
        let length = self.chance.number(..=whole.len());
        let prefix = match self.chance.once_in(10) {
            true => self.chance.word(),
            false => whole[..length].to_owned(),
        };
        Question::Prefix { kind, prefix, limit: self.chance.limit() }
    }

    fn window(&mut self, model: &Model, conversation: ConversationId) -> Question {
        let branch = self.chance.once_in(4).then(|| self.branch_of(model, conversation));
        let from = (!self.chance.once_in(3)).then(|| self.message_of(model, conversation));
        let direction = self.chance.of([Direction::Forward, Direction::Backward]);
        Question::Window(MessagePageQuery { conversation, branch, from, direction, limit: self.chance.limit() })
    }

    fn messages_query(&mut self, model: &Model, conversation: ConversationId) -> Question {
        let message = self.message_of(model, conversation);
        let kind = self.chance.number(..6);
        if let 2..5 = kind {
            let related = if kind < 4 { Related::Siblings } else { Related::Thread };
            let after = self.chance.maybe(|_| message);
            return Question::Related(RelatedQuery { message, related, after });
        }
        Question::Messages(match kind {
            0 => MessagesQuery::Ids((0..self.chance.number(..5)).map(|_| self.message(model)).collect()),
            1 => {
                let branch = self.branch_of(model, conversation);
                let own = model.data.branch(branch).map(|(_, branch)| branch.own.clone()).unwrap_or_default();
                let after = self.chance.maybe(|chance| chance.pick(&own).unwrap_or(message));
                MessagesQuery::Branch { branch, after, limit: self.chance.limit() }
            }
            _ => MessagesQuery::External(self.chance.word()),
        })
    }

    fn documents_query(&mut self) -> Question {
        let (kind, id) = self.document();
        Question::Documents(match self.chance.number(..7) {
            0 => DocumentsQuery::All,
            1..3 => DocumentsQuery::Kind(kind),
            3..5 => DocumentsQuery::Newest { kind, id },
            _ => DocumentsQuery::Versions { kind, id },
        })
    }

    fn memories_query(&mut self, model: &Model) -> Question {
        Question::Memories(MemoriesQuery {
            collection: self.chance.once_in(3).then(|| self.chance.word()),
            project: self.chance.once_in(4).then(|| self.project(model)),
            external: self.chance.once_in(4).then(|| self.chance.word()),
            after: self.chance.once_in(3).then(|| self.memory_id(model)),
            limit: self.chance.limit(),
        })
    }
}
