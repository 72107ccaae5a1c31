//! Fault-injecting TCP proxy between a client and PostgreSQL: cuts, holds or delays the data that passes.

use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A wire to a PostgreSQL on loopback; it is cut with its handle.
pub struct Proxy {
    port: u16,
    wire: Arc<Wire>,
}

/// What happens to the reply that says a transaction is committed, before the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its connection is cut.
    Cut,
    /// Nothing passes from here on, on any connection, and none is closed.
    Hold,
}

struct Wire {
    server: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Both ends of each connection.
    open: HashMap<u64, [TcpStream; 2]>,
    next: u64,
    held: bool,
    ended: bool,
    delay: Duration,
    /// What waits for the next replies.
    fates: Vec<Fate>,
    met: usize,
}

impl Proxy {
    /// Lays a wire to the PostgreSQL on this port.
    pub fn start(server: u16) -> io::Result<Proxy> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let server = SocketAddr::from(([127, 0, 0, 1], server));
        let wire = Arc::new(Wire { server, state: Mutex::default(), changed: Condvar::new() });
        let accepting = wire.clone();
        std::thread::Builder::new().name("proxy".to_owned()).spawn(move || accept(&accepting, &listener))?;
        Ok(Proxy { port, wire })
    }

    /// Returns the address of the first database behind it, as client libraries take it.
    pub fn url(&self) -> String {
        // It looks into what passes.
        format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// Cuts every connection and returns how many there were.
    pub fn cut(&self) -> usize {
        let open = std::mem::take(&mut self.wire.state.lock().open);
        open.values().for_each(close);
        self.wire.changed.notify_all();
        open.len()
    }

    /// Says what happens to the next reply to a COMMIT. Asked twice, it happens to two.
    pub fn at_commit(&self, fate: Fate) {
        self.wire.state.lock().fates.push(fate);
    }

    /// Returns how many replies to a COMMIT did not reach their client.
    pub fn met(&self) -> usize {
        self.wire.state.lock().met
    }

    /// Lets nothing pass and closes nothing, like a network that has swallowed the other side.
    pub fn hold(&self) {
        self.wire.state.lock().held = true;
    }

    /// Lets everything pass again, also what was held.
    pub fn release(&self) {
        self.wire.state.lock().held = false;
        self.wire.changed.notify_all();
    }

    /// Holds each piece that passes, in both directions, for so long.
    pub fn delay(&self, delay: Duration) {
        self.wire.state.lock().delay = delay;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.wire.state.lock().ended = true;
        self.cut();
        // The thread that accepts is woken to see that it has ended.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Wire {
    /// Waits until something may pass; says whether the connection is still there then.
    fn waits(&self, number: u64) -> bool {
        let mut state = self.state.lock();
        let delay = state.delay;
        if !delay.is_zero() {
            drop(state);
            std::thread::sleep(delay);
            state = self.state.lock();
        }
        while state.held && state.open.contains_key(&number) {
            self.changed.wait(&mut state);
        }
        state.open.contains_key(&number)
    }

    /// Takes what waits for a reply, if anything does.
    fn fate(&self) -> Option<Fate> {
        let mut state = self.state.lock();
        let fate = state.fates.pop()?;
        state.met += 1;
        state.held |= fate == Fate::Hold;
        Some(fate)
    }

    fn end(&self, number: u64) {
        if let Some(ends) = self.state.lock().open.remove(&number) {
            close(&ends);
        }
        self.changed.notify_all();
    }
}

fn close(ends: &[TcpStream; 2]) {
    for end in ends {
        // It may be closed already.
        let _ = end.shutdown(Shutdown::Both);
    }
}

fn accept(wire: &Arc<Wire>, listener: &TcpListener) {
    for client in listener.incoming() {
        if wire.state.lock().ended {
            return;
        }
        // A client that cannot be served sees its connection close.
        let Ok(client) = client else { continue };
        let _ = join(wire, client);
    }
}

fn join(wire: &Arc<Wire>, client: TcpStream) -> io::Result<()> {
    let server = TcpStream::connect(wire.server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ends = [client.try_clone()?, server.try_clone()?];
    let mut state = wire.state.lock();
    let number = state.next;
    state.next += 1;
    state.open.insert(number, ends);
    drop(state);
    let (there, back) = (wire.clone(), wire.clone());
    let (from, to) = (client.try_clone()?, server.try_clone()?);
    let spawn = |work: Box<dyn FnOnce() + Send>| std::thread::Builder::new().name("proxy".to_owned()).spawn(work);
    spawn(Box::new(move || asked(&there, number, from, to)))?;
    spawn(Box::new(move || replied(&back, number, server, client)))?;
    Ok(())
}

/// Passes what the client says.
fn asked(wire: &Wire, number: u64, mut client: TcpStream, mut server: TcpStream) {
    let mut piece = vec![0; 1 << 16];
    while let Ok(length @ 1..) = client.read(&mut piece) {
        if !wire.waits(number) || server.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    wire.end(number);
}

/// Passes what the server says, and looks for the reply to a COMMIT.
fn replied(wire: &Wire, number: u64, mut server: TcpStream, mut client: TcpStream) {
    let mut piece = vec![0; 1 << 16];
    let mut messages = Messages::default();
    while let Ok(length @ 1..) = server.read(&mut piece) {
        let mut rest = &piece[..length];
        let fate = messages.commit(rest).and_then(|at| Some((at, wire.fate()?)));
        if let Some((at, fate)) = fate {
            let (before, reply) = rest.split_at(at);
            if client.write_all(before).is_err() || fate == Fate::Cut {
                break;
            }
            rest = reply;
        }
        if !wire.waits(number) || client.write_all(rest).is_err() {
            break;
        }
    }
    wire.end(number);
}

/// Parser state of the message that the server is sending: type, length, and the bytes received so far.
#[derive(Default)]
struct Messages {
    head: Vec<u8>,
    tag: Vec<u8>,
    left: usize,
}

impl Messages {
    /// Reads on, and returns where in this piece the first reply to a COMMIT begins.
    fn commit(&mut self, piece: &[u8]) -> Option<usize> {
        let (mut found, mut begun, mut at) = (None, 0, 0);
        while at < piece.len() {
            if self.head.len() < 5 {
                if self.head.is_empty() {
                    begun = at;
                }
                self.head.push(piece[at]);
                at += 1;
                if let &[_, a, b, c, d] = &self.head[..] {
                    self.left = (u32::from_be_bytes([a, b, c, d]) as usize).saturating_sub(4);
                }
            } else {
                let taken = self.left.min(piece.len() - at);
                // Only what a statement did is of interest, and it is short.
                if self.head[0] == b'C' {
                    self.tag.extend_from_slice(&piece[at..at + taken]);
                }
                self.left -= taken;
                at += taken;
            }
            if self.head.len() == 5 && self.left == 0 {
                if self.head[0] == b'C' && self.tag == b"COMMIT\0" {
                    found = found.or(Some(begun));
                }
                self.head.clear();
                self.tag.clear();
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Messages;

    #[test]
    fn the_reply_to_a_commit_is_found_however_it_is_split() {
        let stream = b"Z\0\0\0\x05TC\0\0\0\x0bUPDATE\0I\0\0\0\x04C\0\0\0\x0bCOMMIT\0Z\0\0\0\x05I";
        let begins = 6 + 12 + 5;
        assert_eq!(Messages::default().commit(stream), Some(begins));
        for split in 1..stream.len() {
            let (first, second) = stream.split_at(split);
            let mut messages = Messages::default();
            let found = (messages.commit(first), messages.commit(second));
            let expected = match split {
                split if split <= begins => (None, Some(begins - split)),
                split if split < begins + 12 => (None, Some(0)),
                _ => (Some(begins), None),
            };
            assert_eq!(found, expected, "split at {split}");
        }
    }
}
