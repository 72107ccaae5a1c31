//! Bridge between async HTTP bodies and the blocking readers and writers of the library.
//!
//! The blocking side runs on a `spawn_blocking` thread. It must not be inside of `Handle::block_on`, because every read
//! and write is one; futures that read or write are run by `futures_executor::block_on`.

use crate::problem::Problem;
use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use std::io::{self, BufWriter};
use std::pin::Pin;
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::sync::oneshot;
use tokio_io_timeout::TimeoutWriter;
use tokio_util::io::{ReaderStream, StreamReader, SyncIoBridge};

/// Capacity of the pipe behind a writer.
const PIPE_BYTES: usize = 1 << 19;
const CHUNK_BYTES: usize = 1 << 16;

/// Stall timeout: a side that makes no progress for this long is treated as disconnected.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Blocking writer of a response body.
pub type BodyWriter = BufWriter<SyncIoBridge<Pin<Box<TimeoutWriter<DuplexStream>>>>>;

/// Marks a response body as complete. If it is dropped instead, the body is aborted, so that a partial body is not taken
/// for the whole.
pub struct Completion(oneshot::Sender<()>);

impl Completion {
    pub fn complete(self) {
        // If the reader is gone, there is no body to complete.
        let _ = self.0.send(());
    }
}

/// Creates a writer for a blocking thread and the stream of its output, which ends when the writer is dropped and its
/// completion is known.
pub fn writer() -> (BodyWriter, Completion, impl Stream<Item = io::Result<Bytes>>) {
    let (write, read) = tokio::io::duplex(PIPE_BYTES);
    let mut write = Box::pin(TimeoutWriter::new(write));
    write.as_mut().set_timeout_pinned(Some(STALL_TIMEOUT));
    let (sender, completed) = oneshot::channel();
    let end = stream::once(completed).filter_map(async |completed| match completed {
        Ok(()) => None,
        Err(_) => Some(Err(io::Error::other("the body was aborted"))),
    });
    let chunks = ReaderStream::with_capacity(read, CHUNK_BYTES).chain(end);
    (BufWriter::with_capacity(CHUNK_BYTES, SyncIoBridge::new(write)), Completion(sender), chunks)
}

/// Blocking reader of a request body; its errors are [`BodyError`]s.
pub type BodyReader = SyncIoBridge<StreamReader<BoxStream<'static, Result<Bytes, BodyError>>, Bytes>>;

/// Why the rest of a request body cannot be read.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub enum BodyError {
    #[error("the body ended early")]
    EndedEarly,
    #[error("nothing of the body came for a minute; what came before is stored")]
    TimedOut,
    #[error("the body is larger than {limit} bytes; what came before is stored")]
    TooLarge { limit: usize },
}

impl BodyError {
    /// Returns the body's error that caused an I/O error, if one did.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<BodyError> for io::Error {
    fn from(error: BodyError) -> Self {
        Self::other(error)
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        let why = error.to_string();
        match error {
            BodyError::EndedEarly => Self::invalid(why),
            BodyError::TimedOut => Self::new(StatusCode::REQUEST_TIMEOUT, "time_out", why),
            BodyError::TooLarge { .. } => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", why),
        }
    }
}

/// Returns a reader of a body for a blocking thread. Fails behind `limit` bytes and after the stall timeout.
pub fn reader(body: Body, limit: usize) -> BodyReader {
    let chunks = stream::try_unfold((body.into_data_stream(), 0), move |(mut chunks, size)| async move {
        let next = tokio::time::timeout(STALL_TIMEOUT, chunks.next()).await.map_err(|_| BodyError::TimedOut)?;
        let Some(chunk) = next.transpose().map_err(|_| BodyError::EndedEarly)? else { return Ok(None) };
        let size = size + chunk.len();
        match size > limit {
            true => Err(BodyError::TooLarge { limit }),
            false => Ok(Some((chunk, (chunks, size)))),
        }
    });
    SyncIoBridge::new(StreamReader::new(chunks.boxed()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// Runs blocking work on a thread whose waits advance the paused clock.
    async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, done) = oneshot::channel();
        std::thread::spawn(move || drop(sender.send(work())));
        done.await.expect("no panic")
    }

    fn read_all(mut reader: BodyReader) -> (Vec<u8>, Option<BodyError>) {
        let mut bytes = Vec::new();
        let error = reader.read_to_end(&mut bytes).err();
        (bytes, error.map(|error| BodyError::of(&error).expect("an error of the body")))
    }

    #[tokio::test(start_paused = true)]
    async fn body_reader_stalled_times_out() {
        let chunks = stream::iter([Ok::<_, io::Error>(Bytes::from_static(b"one"))]).chain(stream::pending());
        let reader = reader(Body::from_stream(chunks), 10);
        let (bytes, error) = on_thread(move || read_all(reader)).await;
        assert_eq!(bytes, b"one");
        assert!(matches!(error, Some(BodyError::TimedOut)), "{error:?}");
    }

    #[tokio::test]
    async fn body_reader_behind_its_limit_fails() {
        let (fits, too_large) = (reader(Body::from("12345"), 5), reader(Body::from("123456"), 5));
        assert!(matches!(on_thread(move || read_all(fits)).await, (bytes, None) if bytes == b"12345"));
        let (_, error) = on_thread(move || read_all(too_large)).await;
        assert!(matches!(error, Some(BodyError::TooLarge { limit: 5 })), "{error:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn body_writer_stalled_times_out() {
        let (mut writer, _completion, _chunks) = writer();
        let error = on_thread(move || writer.write_all(&vec![0; 2 * PIPE_BYTES])).await.expect_err("stalled");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn body_without_completion_is_aborted() {
        for is_complete in [true, false] {
            let (mut writer, completion, chunks) = writer();
            let writing = on_thread(move || {
                writer.write_all(b"one").expect("written");
                drop(writer);
                if is_complete {
                    completion.complete();
                }
            });
            let (chunks, ()) = tokio::join!(chunks.collect::<Vec<_>>(), writing);
            assert_eq!(chunks.first().and_then(|chunk| chunk.as_ref().ok()), Some(&Bytes::from_static(b"one")));
            assert_eq!(chunks.iter().any(Result::is_err), !is_complete);
        }
    }
}
