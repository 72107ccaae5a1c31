//! Import of folds, matched with earlier imports by their ids in the file.

use crate::error::Result;
use crate::transfer::import::conversation_import::ConversationImport;
use crate::transfer::import::importer::Importer;
use manent_formats::{FoldItem, Item};
use manent_model::{Fold, FoldId, MessageRange, Origin, OriginObject};
use manent_store::{Annotations, Change, NewFold};

impl ConversationImport {
    pub(crate) async fn fold(
        &mut self,
        importer: &mut Importer<'_>,
        item: FoldItem,
        ordinal: i64,
        here: &Annotations,
    ) -> Result<()> {
        let Some(after) = self.message_id_at(item.after) else {
            self.skip(importer, item.record, "the message that it hangs on was skipped".to_owned());
            return Ok(());
        };
        let covers = item.covers.and_then(|(first, last)| {
            Some(MessageRange { first: self.message_id_at(first)?, last: self.message_id_at(last)? })
        });
        let covers: Vec<MessageRange> = covers.into_iter().collect();
        let known = self.known_fold(importer, &item, here).await?;
        let at = item.at.map_or_else(manent_store::now, |time| time.at);
        if let Some((fold, origin)) = &known
            && fold.after == after
            && fold.covers == covers
            && fold.summary == item.summary
            && fold.made_by == item.made_by
        {
            if origin.raw.as_ref() == Some(&item.raw) {
                importer.mapped(item.record);
                return Ok(());
            }
            // The same fold, serialized differently in the file.
            let object = OriginObject::Fold(fold.id);
            let said = importer.origin(object, ordinal, item.external, Some(item.raw)).await?;
            return self.put(importer, at, said.into_iter().collect(), item.record).await;
        }
        let id = importer.database.new_id(FoldId::new);
        let fold =
            NewFold { id, after, kind: item.kind, covers, summary: item.summary, parent: None, made_by: item.made_by };
        let mut changes = vec![Change::AddFold { conversation: self.id, fold }];
        let before = known.map(|(fold, _)| fold);
        if !item.active || before.as_ref().is_some_and(|before| !before.active) {
            changes.push(Change::SetFoldActive { fold: id, active: false });
        }
        // It replaces the earlier version of the fold, which covered fewer or other messages.
        changes.extend(before.map(|before| Change::SetFoldActive { fold: before.id, active: false }));
        changes.extend(importer.origin(OriginObject::Fold(id), ordinal, item.external, Some(item.raw)).await?);
        self.put(importer, at, changes, item.record).await
    }

    /// Removes a bookmark that an import created for an otherwise unreachable position, once a fold of that name leads
    /// there.
    pub(crate) async fn leave_superseded_bookmarks(
        &mut self,
        importer: &mut Importer<'_>,
        items: &[Item],
        here: &Annotations,
    ) -> Result<()> {
        let is_bookmark =
            |name: &str| items.iter().any(|item| matches!(item, Item::Bookmark(item) if item.name == name));
        let folds = items.iter().filter_map(|item| match item {
            Item::Fold(fold) => fold.external.clone(),
            _ => None,
        });
        for name in folds.filter(|name| here.bookmarks.iter().any(|known| known.name == *name) && !is_bookmark(name)) {
            importer.commit(manent_store::now(), vec![Change::RemoveBookmark { conversation: self.id, name }]).await?;
        }
        Ok(())
    }

    /// Returns whether the file has a fold that is not stored yet.
    pub(crate) async fn has_new_folds(&self, importer: &Importer<'_>) -> Result<bool> {
        let here = importer.database.annotations(self.id).await?;
        for item in &self.annotations {
            if let Item::Fold(fold) = item
                && self
                    .known_fold(importer, fold, &here)
                    .await?
                    .is_none_or(|(_, origin)| origin.raw.as_ref() != Some(&fold.raw))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The fold that an earlier import created from the same one, with its origin.
    async fn known_fold(
        &self,
        importer: &Importer<'_>,
        item: &FoldItem,
        here: &Annotations,
    ) -> Result<Option<(Fold, Origin)>> {
        let (Some(known), Some(external)) = (&importer.known, &item.external) else { return Ok(None) };
        for origin in known.named(importer.database, importer.format.name, external).await? {
            let OriginObject::Fold(id) = origin.object else { continue };
            if let Some(fold) = here.folds.iter().rfind(|fold| fold.id == id) {
                return Ok(Some((fold.clone(), origin)));
            }
        }
        Ok(None)
    }
}
