//! Commits of a key: the scopes, the constraints and the access checks of a transaction.

use super::store::StoreView;
use super::{constrain, references, required_scope};
use crate::api::error::{Result, StoreError};
use crate::api::permissions::Permissions;
use crate::api::transaction::{Change, ChangeResult, Committed, EraseTarget, Receipt, Transaction};
use crate::engine::access::access_check::AccessChecks;
use crate::engine::interface::{self, Engine};
use crate::engine::read::library::UPLOAD;
use manent_model::Scratch;
use sha2::{Digest as _, Sha256};

impl<E: Engine> StoreView<E> {
    /// Commits a transaction of a key.
    pub(super) async fn commit_authorized(
        &self,
        permissions: &Permissions,
        mut transaction: Transaction,
    ) -> Result<Committed> {
        for change in &transaction.changes {
            let scope = change.required_scope();
            if !permissions.scopes.holds(scope) {
                return Err(StoreError::Forbidden { needs: required_scope::needs(scope) });
            }
            // A blob is readable for its uploader: that is recorded at the upload, and nowhere else.
            if let Change::PutScratch { scratch: Scratch { kind, .. } } | Change::RemoveScratch { kind, .. } = change
                && kind == UPLOAD
            {
                return Err(StoreError::Forbidden { needs: "the store itself" });
            }
        }
        if let Some(actor) = &permissions.actor {
            transaction.actor = Some(actor.clone());
        }
        transaction.key = transaction.key.map(|key| own_request_key(&permissions.id, &key)).transpose()?;
        match permissions.access.is_limited() {
            true => self.commit_limited(permissions, transaction).await,
            false => interface::commit(&*self.engine, transaction, None).await,
        }
    }

    /// Commits a transaction of a limited key after its checks.
    async fn commit_limited(&self, permissions: &Permissions, mut transaction: Transaction) -> Result<Committed> {
        let many = transaction.changes.len();
        constrain::constrain(permissions, &mut transaction)?;
        let new_uploads = self.uploads.lock().verify_possession(&permissions.id, &mut transaction)?;
        let checks = references::required_checks(&permissions.access, &transaction);
        let checks = AccessChecks { access: permissions.access.clone(), key: permissions.id.clone(), checks };
        let mut committed = match transaction.changes.as_slice() {
            [Change::Purge { .. } | Change::Erase { target: EraseTarget::Conversation(_) }] => {
                self.destroy_conversation(transaction, checks).await?
            }
            _ => interface::commit(&*self.engine, transaction, Some(checks)).await?,
        };
        self.uploads.lock().add(new_uploads);
        // Changes that were added here are not part of the answer.
        committed.results.truncate(many);
        Ok(committed)
    }

    /// Destroys a conversation to its end. Its first step removes the owner, so the checks would refuse the others.
    async fn destroy_conversation(&self, transaction: Transaction, checks: AccessChecks) -> Result<Committed> {
        let next = Transaction { key: None, expect: Vec::new(), ..transaction.clone() };
        let mut committed = interface::commit(&*self.engine, transaction, Some(checks)).await?;
        let mut total = Receipt::default();
        loop {
            let is_finished = match committed.results.first_mut() {
                Some(ChangeResult::Erased(step)) => {
                    add(&mut total, step);
                    *step = total.clone();
                    step.finished
                }
                Some(ChangeResult::Purged(is_finished)) => *is_finished,
                _ => true,
            };
            if is_finished {
                return Ok(committed);
            }
            let first = committed.first;
            committed = Committed { first, ..interface::commit(&*self.engine, next.clone(), None).await? };
        }
    }
}

/// Returns the idempotency key of a request as the store keeps it: two keys never get each other's answers.
pub(super) fn own_request_key(id: &str, request: &[u8]) -> Result<Vec<u8>> {
    if request.is_empty() || request.len() > 255 {
        return Err(StoreError::Invalid("an idempotency key has 1 to 255 bytes".to_owned()));
    }
    let mut hasher = Sha256::new();
    hasher.update((id.len() as u64).to_le_bytes());
    hasher.update(id.as_bytes());
    hasher.update(request);
    Ok(hasher.finalize().to_vec())
}

fn add(total: &mut Receipt, step: &Receipt) {
    let Receipt { at, finished, messages, conversations, annotations, blobs, scratch, journal } = step;
    total.at = *at;
    total.finished = *finished;
    total.messages += messages;
    total.conversations += conversations;
    total.annotations += annotations;
    total.blobs += blobs;
    total.scratch += scratch;
    total.journal += journal;
}
