//! Bridge between async bodies and the blocking readers and writers of the library.

use crate::problem::{ApiResult, Problem};
use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use std::io::{self, Read, Write};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Capacity of the channel between the two sides, in chunks.
const PIECES: usize = 8;
const PIECE: usize = 1 << 16;

/// Stall timeout: a side that makes no progress for this long is treated as disconnected.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Blocks the current thread on a future, with the stall timeout. The other side needs no thread of its own.
fn wait<T>(work: impl Future<Output = T>) -> io::Result<T> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let (waker, started) = (Waker::from(Arc::new(Unpark(thread::current()))), Instant::now());
    // The caller may be inside a task that has used up its cooperative budget; without `unconstrained` it would never
    // be ready.
    let mut work = pin!(tokio::task::unconstrained(work));
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Ok(done);
        }
        let left = STALL_TIMEOUT.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        thread::park_timeout(left);
    }
}

/// Blocking writer whose bytes become a stream.
pub struct BodyWriter {
    sender: Sender<io::Result<Bytes>>,
    buffer: Vec<u8>,
}

/// Aborts a stream so that its reader sees an error.
pub struct AbortHandle(Sender<io::Result<Bytes>>);

impl AbortHandle {
    /// Aborts the stream.
    pub fn send(self) {
        // If the reader is gone, no abort is needed.
        let _ = wait(self.0.send(Err(io::Error::other("cut"))));
    }
}

impl BodyWriter {
    /// Returns a handle that can abort the stream later.
    pub fn breaker(&self) -> AbortHandle {
        AbortHandle(self.sender.clone())
    }
}

impl Write for BodyWriter {
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
        wait(self.sender.send(Ok(piece)))?.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl Drop for BodyWriter {
    fn drop(&mut self) {
        // A disconnected reader is not an error of the writer.
        let _ = self.flush();
    }
}

/// Creates a writer for a blocking thread, and the stream of its output.
pub fn out() -> (BodyWriter, impl Stream<Item = io::Result<Bytes>>) {
    let (sender, receiver) = channel(PIECES);
    let pieces = stream::unfold(receiver, |mut receiver: Receiver<io::Result<Bytes>>| async move {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    (BodyWriter { sender, buffer: Vec::with_capacity(PIECE) }, pieces)
}

/// Blocking reader of a body.
pub struct BodyReader {
    receiver: Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Read for BodyReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match wait(self.receiver.recv())? {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let taken = self.piece.split_to(into.len().min(self.piece.len()));
        into[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}

/// Returns a future that feeds a body to a blocking thread, and the reader for that thread.
pub fn into(body: Body, limit: usize) -> (impl Future<Output = ApiResult<()>>, BodyReader) {
    let (sender, receiver) = channel(PIECES);
    let feed = async move {
        let (mut pieces, mut size) = (body.into_data_stream(), 0usize);
        loop {
            let next = tokio::time::timeout(STALL_TIMEOUT, pieces.next()).await;
            let piece = match next {
                Ok(None) => return Ok(()),
                Ok(Some(Ok(piece))) => piece,
                Ok(Some(Err(_))) => {
                    pass(&sender, Err(io::Error::from(io::ErrorKind::UnexpectedEof))).await;
                    return Err(Problem::invalid("the body ended early"));
                }
                Err(_) => {
                    pass(&sender, Err(io::Error::from(io::ErrorKind::TimedOut))).await;
                    let why = "nothing of the body came for a minute; what came before is stored";
                    return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "time_out", why));
                }
            };
            size += piece.len();
            if size > limit {
                pass(&sender, Err(io::Error::other("too large"))).await;
                let why = format!("the body is larger than {limit} bytes; what came before is stored");
                return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", why));
            }
            if !pass(&sender, Ok(piece)).await {
                // The reader has stopped and reports the reason itself.
                return Ok(());
            }
        }
    };
    (feed, BodyReader { receiver, piece: Bytes::new() })
}

async fn pass(sender: &Sender<io::Result<Bytes>>, piece: io::Result<Bytes>) -> bool {
    sender.send(piece).await.is_ok()
}
