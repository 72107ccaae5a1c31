//! Conversations, written in other programs' formats.
//!
//! A writer runs on a thread of its own and asks for what it writes; what it asks for is read from the store page by page.

mod asking;
mod disk;
mod library;
mod sequence;

use crate::database::Database;
use crate::error::{Error, Result};
use asking::Asking;
pub use disk::{DiskOut, Replace};
use library::Shelf;
use manent_formats::{Format, Loss, Out};
use manent_model::ConversationId;

impl Database {
    /// Writes conversations in a format, and returns what it cannot hold.
    ///
    /// In the generation that is asked for; else in the one that they came from, else in the format's usual one. What came
    /// from this format and was not changed is written as it was.
    pub async fn export_tree<O: Out + Send + 'static>(
        &self,
        conversations: &[ConversationId],
        format: &'static Format,
        generation: Option<&str>,
        out: O,
    ) -> Result<(O, Vec<Loss>)> {
        let plain = self.plain();
        let mut shelf = Shelf::of(&plain, format.name, conversations).await?;
        let (asking, mut asked) = Asking::new(shelf.root.clone(), shelf.places.len());
        let generation = generation.map(str::to_owned);
        let thread = std::thread::spawn(move || {
            let (mut asking, mut out) = (asking, out);
            let written = (format.write)(&mut asking, &mut out, generation.as_deref());
            written.map(|losses| (out, losses))
        });
        while let Some((question, answer)) = asked.recv().await {
            // A writer that is gone wants no answer.
            let _ = answer.send(shelf.answer(question).await.map_err(|error| error.into()));
        }
        let defect = || manent_formats::WriteError::Library("the writer met a defect of this program".into());
        let written = thread.join().unwrap_or_else(|_| Err(defect()));
        written.map_err(|source| Error::Unwritable { source })
    }
}
