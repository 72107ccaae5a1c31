//! Between bodies, which are read and written without waiting, and the library's readers and writers, which wait.

use crate::problem::{Answer, Problem};
use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tokio::task::spawn_blocking;

/// How much waits between the two sides.
const PIECES: usize = 8;
const PIECE: usize = 1 << 16;

/// A writer whose bytes come out of a stream.
pub struct Out {
    sender: SyncSender<io::Result<Bytes>>,
    buffer: Vec<u8>,
}

/// Cuts a stream so that its reader notices.
pub struct Breaker(SyncSender<io::Result<Bytes>>);

impl Breaker {
    /// Cuts it.
    pub fn send(self) {
        // Nobody reads any more: then nobody is misled either.
        let _ = self.0.send(Err(io::Error::other("cut")));
    }
}

impl Out {
    /// Returns what cuts the stream later.
    pub fn breaker(&self) -> Breaker {
        Breaker(self.sender.clone())
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.buffer));
        self.sender.send(Ok(piece)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        // A reader that left is no error of the writer.
        let _ = self.flush();
    }
}

/// Returns a writer for a thread that may wait, and the stream of what it writes.
pub fn out() -> (Out, impl Stream<Item = io::Result<Bytes>>) {
    let (sender, receiver) = sync_channel(PIECES);
    let pieces = stream::unfold(receiver, |receiver: Receiver<io::Result<Bytes>>| async move {
        spawn_blocking(move || receiver.recv().ok().map(|piece| (piece, receiver))).await.ok()?
    });
    (Out { sender, buffer: Vec::with_capacity(PIECE) }, pieces)
}

/// A reader of what a body brings.
pub struct In {
    receiver: Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Read for In {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.recv() {
                Ok(piece) => self.piece = piece?,
                Err(_) => return Ok(0),
            }
        }
        let taken = self.piece.split_to(into.len().min(self.piece.len()));
        into[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}

/// Returns the work of feeding a body to a thread that may wait, and the reader for that thread.
pub fn into(body: Body, limit: usize) -> (impl Future<Output = Answer<()>>, In) {
    let (sender, receiver) = sync_channel(PIECES);
    let feed = async move {
        let (mut pieces, mut size) = (body.into_data_stream(), 0usize);
        while let Some(piece) = pieces.next().await {
            let piece = match piece {
                Ok(piece) => piece,
                Err(_) => {
                    pass(sender, Err(io::Error::from(io::ErrorKind::UnexpectedEof))).await;
                    return Err(Problem::invalid("the body ended early"));
                }
            };
            size += piece.len();
            if size > limit {
                pass(sender, Err(io::Error::other("too large"))).await;
                let why = format!("the body is larger than {limit} bytes; what came before is stored");
                return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", why));
            }
            if !pass(sender.clone(), Ok(piece)).await {
                // The reader has stopped and says why.
                return Ok(());
            }
        }
        Ok(())
    };
    (feed, In { receiver, piece: Bytes::new() })
}

async fn pass(sender: SyncSender<io::Result<Bytes>>, piece: io::Result<Bytes>) -> bool {
    spawn_blocking(move || sender.send(piece).is_ok()).await.unwrap_or(false)
}
