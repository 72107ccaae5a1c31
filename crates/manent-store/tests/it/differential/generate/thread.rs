//! Conversations and projects.

use super::*;
use std::collections::BTreeMap;

impl Generator {
    fn external(&mut self) -> String {
        format!("external {}", self.chance.number(..40))
    }

    pub(super) fn create(&mut self, model: &Model) -> Change {
        let known: Vec<ConversationId> = model.data.threads.iter().map(|thread| thread.id).collect();
        if known.len() >= CONVERSATIONS && !self.chance.once_in(8) {
            return self.edit(model);
        }
        let id = self.new_or_known(known, ConversationId::new);
        let draft = ConversationDraft {
            external_id: self.chance.once_in(3).then(|| self.external()),
            title: self.chance.title(),
            kind: self.chance.of([ConversationKind::Chat, ConversationKind::Agent, ConversationKind::Group]),
            project: self.chance.once_in(4).then(|| self.project(model)),
            creator: self.chance.maybe(Chance::author),
            members: (0..self.chance.number(..3)).map(|_| self.chance.author()).collect(),
            tags: (0..self.chance.number(..3)).map(|_| self.chance.word()).collect(),
            metadata: self.chance.maybe(Chance::json),
            continued_from: self.chance.once_in(6).then(|| self.conversation(model)),
            forked_from: self.chance.once_in(6).then(|| self.conversation(model)),
        };
        let branch = self.new_branch(model, id);
        Change::CreateConversation { id, branch, draft, importing: self.chance.once_in(10) }
    }

    pub(super) fn edit(&mut self, model: &Model) -> Change {
        use ConversationStatus::{Active, Archived, Importing, Trashed};
        let chance = &mut self.chance;
        let mut patch = ConversationPatch {
            title: chance.maybe(Chance::title),
            pinned: chance.once_in(6).then(|| chance.once_in(2)),
            members: chance.once_in(8).then(|| (0..chance.number(..3)).map(|_| chance.author()).collect()),
            add_tags: (0..chance.number(..2)).map(|_| chance.word()).collect(),
            remove_tags: (0..chance.number(..2)).map(|_| chance.word()).collect(),
            metadata: chance.once_in(4).then(|| chance.maybe(Chance::json)),
            ..ConversationPatch::default()
        };
        if chance.once_in(4) {
            patch.status = Some(chance.of([Active, Active, Active, Archived, Trashed, Trashed, Importing]));
        }
        if chance.once_in(12) {
            let (created_at, active_at) = (chance.time(), chance.time());
            patch.times = Some(ConversationTimes { created_at, active_at, trashed_at: chance.maybe(Chance::time) });
        }
        if self.chance.once_in(8) {
            patch.project = Some((!self.chance.once_in(3)).then(|| self.project(model)));
        }
        Change::EditConversation { id: self.conversation(model), patch }
    }

    pub(super) fn change_project(&mut self, model: &Model) -> Change {
        match self.chance.number(..10) {
            0..4 => {
                let known = model.data.library.projects.iter().map(|plan| plan.project.id).collect();
                let id = self.new_or_known(known, ProjectId::new);
                let chance = &mut self.chance;
                Change::CreateProject {
                    project: Project {
                        id,
                        kind: chance.word(),
                        name: chance.text(),
                        instructions: chance.text(),
                        facts: (0..chance.number(..3)).map(|_| (chance.word(), chance.text())).collect(),
                        metadata: chance.maybe(Chance::json),
                        version: 7,
                    },
                }
            }
            4..9 => {
                let id = self.project(model);
                let chance = &mut self.chance;
                let facts: BTreeMap<String, Option<String>> =
                    (0..chance.number(..3)).map(|_| (chance.word(), chance.maybe(Chance::text))).collect();
                let patch = ProjectPatch {
                    name: chance.maybe(Chance::text),
                    instructions: chance.maybe(Chance::text),
                    facts,
                    metadata: chance.once_in(3).then(|| chance.maybe(Chance::json)),
                };
                Change::EditProject { id, patch }
            }
            _ => Change::RemoveProject { id: self.project(model) },
        }
    }

    pub(super) fn list_query(&mut self, model: &Model) -> ListQuery {
        use ConversationStatus::{Active, Archived, Importing, Trashed};
        let all = [Active, Archived, Trashed, Importing];
        let mut query = ListQuery {
            statuses: self.chance.sub_list(&all, 4),
            order: self.chance.of([ListOrder::Activity, ListOrder::Created]),
            limit: self.chance.limit(),
            ..ListQuery::default()
        };
        match self.chance.number(..12) {
            0 => query.kind = Some(self.chance.of([ConversationKind::Chat, ConversationKind::Agent])),
            1 => query.project = Some(self.project(model)),
            2 => query.pinned = Some(self.chance.once_in(2)),
            3 => query.tag = Some(self.chance.word()),
            4 => query.creator = Some(self.chance.author().id),
            5 => query.member = Some(self.chance.author().id),
            6 => query.since = Some(self.chance.time()),
            7 => query.until = Some(self.chance.time()),
            8 => {
                let value = self.chance.maybe(|chance| chance.of(["x", "1", "true", "null"]).to_owned());
                query.metadata = Some((self.chance.of(["a", "b", "天"]).to_owned(), value));
            }
            9 => query.title = Some(self.chance.of(["", "a", "TEXT", "\0", "天", "😀", "Ä"]).to_owned()),
            _ => {}
        }
        if self.chance.once_in(3)
            && let Some(thread) = self.thread(model)
        {
            let (pinned, active_at) = (thread.about.pinned, thread.about.active_at);
            query.after = Some(ListCursor { pinned, active_at, id: thread.id });
        }
        query
    }

    pub(super) fn external_ref(&mut self) -> ConversationRef {
        ConversationRef::External(self.external())
    }
}
