//! Minimal HTTP client: one connection, sequential requests, and the lines of an event stream.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::HeaderMap;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// A connection to a server.
pub struct Client {
    sender: SendRequest<Full<Bytes>>,
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns a header as text, empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

impl Client {
    /// Connects. Every request carries these headers.
    pub async fn connect(address: SocketAddr, headers: &[(&str, &str)]) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(Self { sender, address, headers })
    }

    /// Reconnects, after a response was abandoned halfway.
    pub async fn again(&mut self) -> io::Result<()> {
        let headers = std::mem::take(&mut self.headers);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        *self = Self::connect(self.address, &headers).await?;
        Ok(())
    }

    /// Returns whether the server has closed the connection, for example after its idle timeout.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends a request and reads the whole answer.
    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> io::Result<Answer> {
        let response = self.begin(method, path, headers, body).await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    }

    /// Sends a request and returns as soon as the answer begins.
    pub async fn begin(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> io::Result<Response<Incoming>> {
        let mut request = Request::builder().method(method).uri(path);
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let is_given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        if !is_given("host") {
            request = request.header("host", self.address.to_string());
        }
        for (name, value) in own.filter(|(name, _)| !is_given(name)).chain(headers.iter().copied()) {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(body.into())).map_err(io::Error::other)?;
        self.sender.ready().await.map_err(io::Error::other)?;
        self.sender.send_request(request).await.map_err(io::Error::other)
    }
}

/// The events of a stream.
pub struct Events {
    body: Incoming,
    waiting: String,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// Event id, for resuming.
    pub id: String,
    /// Its data.
    pub data: String,
}

impl Events {
    /// Reads the events of an answer.
    pub fn of(response: Response<Incoming>) -> Self {
        Self { body: response.into_body(), waiting: String::new() }
    }

    /// Waits for the next event; `None` when the stream has ended.
    pub async fn next(&mut self) -> io::Result<Option<Event>> {
        loop {
            if let Some(end) = self.waiting.find("\n\n") {
                let block: String = self.waiting.drain(..end + 2).collect();
                let event = read(&block);
                if !event.data.is_empty() {
                    return Ok(Some(event));
                }
                continue;
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(io::Error::other(error)),
                Some(Ok(frame)) => {
                    if let Some(bytes) = frame.data_ref() {
                        self.waiting.push_str(&String::from_utf8_lossy(bytes));
                    }
                }
            }
        }
    }
}

fn read(block: &str) -> Event {
    let mut event = Event::default();
    for line in block.lines() {
        match line.split_once(": ") {
            Some(("id", id)) => event.id = id.to_owned(),
            Some(("data", data)) => event.data.push_str(data),
            _ => {}
        }
    }
    event
}
