//! HTTP load generator: keep-alive connections that send the next request when the last is answered.
//!
//! A single thread drives all connections and parses responses no more than needed, to leave the CPU to the servers.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::summary::Summary;

/// Connections at the same time.
pub const CONNECTIONS: usize = 64;

/// A request as bytes.
pub type Request = Vec<u8>;

/// Writes a request with these headers and body.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Request {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}

/// Sends requests on [`CONNECTIONS`] connections until `window` has passed; an answer that is no success ends it.
pub fn drive(address: SocketAddr, window: Duration, requests: &[Request]) -> Result<Summary> {
    drive_on(address, window, CONNECTIONS, requests)
}

/// The same on this many connections.
pub fn drive_on(address: SocketAddr, window: Duration, many: usize, requests: &[Request]) -> Result<Summary> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let mut connections = Vec::new();
        for _ in 0..many {
            connections.push(Connection::open(address).await?);
        }
        let requests: std::rc::Rc<[Request]> = requests.into();
        let start = Instant::now();
        let work = connections.into_iter().enumerate().map(|(number, mut connection)| {
            let requests = requests.clone();
            tokio::task::spawn_local(async move {
                let mut latencies = Vec::new();
                let first = number * requests.len() / many;
                for request in requests.iter().cycle().skip(first) {
                    let before = Instant::now();
                    connection.send(request).await?;
                    latencies.push(before.elapsed());
                    if start.elapsed() >= window {
                        break;
                    }
                }
                anyhow::Ok(latencies)
            })
        });
        let work: Vec<_> = work.collect();
        let mut latencies = Vec::new();
        for connection in work {
            latencies.extend(connection.await??);
        }
        Ok(Summary::of(latencies, start.elapsed()))
    })
}

/// Sends one request and returns when it is answered.
pub fn once(address: SocketAddr, request: &[u8]) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { Connection::open(address).await?.send(request).await })
}

struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Connection> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, answer: Vec::with_capacity(1 << 17) })
    }

    async fn send(&mut self, request: &[u8]) -> Result<()> {
        self.stream.write_all(request).await?;
        self.answer.clear();
        let mut whole = usize::MAX;
        while self.answer.len() < whole {
            ensure!(self.stream.read_buf(&mut self.answer).await? > 0, "the server closed the connection");
            if whole == usize::MAX
                && let Some(head) = end_of_head(&self.answer)
            {
                whole = head + body_length(&self.answer[..head])?;
            }
        }
        Ok(())
    }
}

fn end_of_head(answer: &[u8]) -> Option<usize> {
    answer.windows(4).position(|window| window == b"\r\n\r\n").map(|place| place + 4)
}

/// Returns the length of the body that follows a head, if it is one of a success.
fn body_length(head: &[u8]) -> Result<usize> {
    let head = std::str::from_utf8(head)?.to_ascii_lowercase();
    let (status, fields) = head.split_once("\r\n").context("no status")?;
    if !status.starts_with("http/1.1 2") {
        bail!("answered {status}");
    }
    let length = fields.lines().find_map(|field| field.strip_prefix("content-length:"));
    match length {
        Some(length) => Ok(length.trim().parse()?),
        None => bail!("an answer without Content-Length"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_says_how_much_follows() {
        let answer = b"HTTP/1.1 201 Created\r\nContent-Length: 7\r\n\r\n1234567";
        let head = end_of_head(answer).expect("it ends");
        assert_eq!((head, body_length(&answer[..head]).expect("a success")), (answer.len() - 7, 7));
    }

    #[test]
    fn a_refusal_is_no_answer() {
        let refused = body_length(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(refused.expect_err("503").to_string(), "answered http/1.1 503 service unavailable");
    }
}
