//! Branches, pages of paths, and messages by other ways.

use super::*;

impl Data {
    pub fn branches(&self, conversation: ConversationId) -> Result<Vec<BranchInfo>> {
        let thread = self.seen(conversation)?;
        let info = |branch: &Branch| BranchInfo {
            id: branch.id,
            parent: branch.parent,
            fork: branch.fork,
            own_in_ranges: branch.own_in_ranges as i64,
            ranges: branch.pieces.iter().map(|run| MessageRange { first: run[0], last: run[run.len() - 1] }).collect(),
            own_messages: branch.own.len() as i64,
            is_head: thread.head.branch == branch.id,
            reason: branch.why,
        };
        Ok(thread.branches.iter().map(info).collect())
    }

    pub fn window(&self, query: &MessagePageQuery) -> Result<MessagePage> {
        let thread = self.seen(query.conversation)?;
        let owner = query.from.map(|from| self.message(from)).transpose()?;
        let path = match query.branch {
            Some(id) => thread.branch(id).ok_or_else(|| not_found("branch", id))?.path(),
            None => self.path(thread.head),
        };
        let limit = query.limit.clamp(1, PAGE_MAX) as usize;
        let (path, place) = match (query.from, owner) {
            (Some(from), Some((owner, kept))) => match path.iter().position(|id| *id == from) {
                Some(place) => (path, Some(place)),
                None if owner.serial != thread.serial => return Err(not_found("message", from)),
                None => {
                    let own = self.branch(kept.branch)?.1.path();
                    let place = own.iter().position(|id| *id == from);
                    (own, place)
                }
            },
            _ => (path, None),
        };
        let (ids, more) = match query.direction {
            Direction::Forward => {
                let rest = &path[place.map_or(0, |place| place + 1)..];
                (&rest[..limit.min(rest.len())], rest.len() > limit)
            }
            Direction::Backward => {
                let rest = &path[..place.unwrap_or(path.len())];
                (&rest[rest.len().saturating_sub(limit)..], rest.len() > limit)
            }
        };
        let messages = ids.iter().map(|id| Ok(self.message(*id)?.1.shown())).collect::<Result<_>>()?;
        Ok(MessagePage { messages, more })
    }

    pub fn messages(&self, query: &MessagesQuery) -> Result<Vec<LocatedMessage>> {
        let ids: Vec<MessageId> = match query {
            MessagesQuery::Ids(ids) => ids.iter().copied().filter(|id| self.message(*id).is_ok()).collect(),
            MessagesQuery::Branch { branch, after, limit } => {
                let (_, branch) = self.branch(*branch)?;
                let start = match after {
                    Some(id) => {
                        let place = branch.own.iter().position(|own| own == id);
                        place.filter(|_| self.message(*id).is_ok()).ok_or_else(|| not_found("message", id))? + 1
                    }
                    None => 0,
                };
                let own = branch.own[start..].iter().copied().filter(|id| self.message(*id).is_ok());
                own.take((*limit).min(PAGE_MAX) as usize).collect()
            }
            MessagesQuery::External(external) => {
                let has =
                    |kept: &&Kept| kept.origin.as_ref().and_then(|origin| origin.external.as_ref()) == Some(external);
                let kept = self.threads.iter().flat_map(|thread| thread.in_order()).filter(has);
                let mut found: Vec<&Kept> = kept.collect();
                found.sort_by_key(|kept| (self.branch(kept.branch).map_or(0, |(_, branch)| branch.number), kept.slot));
                found.iter().map(|kept| kept.id).collect()
            }
        };
        Ok(ids.into_iter().filter_map(|id| self.placed(id)).collect())
    }

    /// What a test writes fits on one page.
    pub fn related(&self, query: &RelatedQuery) -> Result<LocatedMessagePage> {
        let mut ids = match query.related {
            Related::Siblings => self.siblings(query.message)?,
            Related::Thread => self.answering(query.message)?,
        };
        if let Some(after) = query.after {
            let place = ids.iter().position(|id| *id == after);
            ids.drain(..=place.ok_or_else(|| not_found("message", after))?);
        }
        let messages = ids.into_iter().filter_map(|id| self.placed(id)).collect();
        Ok(LocatedMessagePage { messages, more: false })
    }

    /// Returns a message with its owner; nothing if the owner cannot be seen.
    fn placed(&self, id: MessageId) -> Option<LocatedMessage> {
        let (thread, kept) = self.message(id).ok().filter(|(thread, _)| thread.is_seen())?;
        let on_path = self.path(thread.head).contains(&id);
        Some(LocatedMessage { conversation: thread.id, branch: kept.branch, on_path, message: kept.shown() })
    }

    /// The alternatives of a message are what follows the same predecessor: the next own message of the predecessor's
    /// branch, and the first message of every branch that leaves right behind it.
    fn siblings(&self, id: MessageId) -> Result<Vec<MessageId>> {
        let (thread, kept) = self.message(id)?;
        let shown = self.path(thread.head);
        let path = if shown.contains(&id) { shown } else { self.branch(kept.branch)?.1.path() };
        let place = path.iter().position(|other| *other == id).expect("a branch holds its own messages");
        let before = place.checked_sub(1).map(|place| path[place]);
        let leaving = thread.branches.iter().filter(|branch| branch.fork == before);
        let first = |branch: &Branch| match branch.pieces.first() {
            Some(piece) => Some(piece[0]),
            None => branch.own.first().copied(),
        };
        let mut alternatives: BTreeSet<MessageId> = leaving.filter_map(first).chain([id]).collect();
        if let Some(before) = before
            && let Ok((_, earlier)) = self.message(before)
        {
            let (_, branch) = self.branch(earlier.branch)?;
            // What was put into the middle is followed by the kept tail.
            let tail_follows = earlier.slot == branch.own_in_ranges
                && branch.pieces.last().and_then(|piece| piece.last()) != Some(&before);
            if !tail_follows {
                alternatives.extend(branch.own.get(earlier.slot));
            }
        }
        let mut found: Vec<(Position, MessageId)> = Vec::new();
        for id in alternatives {
            found.extend(self.message(id).ok().map(|(_, kept)| (kept.arrival, id)));
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }

    /// Follows answers up to the first message that was answered, then down to everything that answers it.
    fn answering(&self, id: MessageId) -> Result<Vec<MessageId>> {
        let mut root = self.message(id)?.1;
        let mut seen = BTreeSet::from([id]);
        while let Some(next) = root.content.reply_to
            && let Ok((_, answered)) = self.message(next)
            && seen.insert(next)
        {
            root = answered;
        }
        let mut found = BTreeSet::from([(root.arrival, root.id)]);
        loop {
            let all = self.threads.iter().flat_map(|thread| thread.messages.values());
            let answers =
                |kept: &&Arc<Kept>| kept.content.reply_to.is_some_and(|to| found.iter().any(|(_, other)| *other == to));
            let more: Vec<(Position, MessageId)> = all.filter(answers).map(|kept| (kept.arrival, kept.id)).collect();
            let before = found.len();
            found.extend(more);
            if found.len() == before {
                return Ok(found.into_iter().map(|(_, id)| id).collect());
            }
        }
    }
}
