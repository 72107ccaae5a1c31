//! Interactive search in a pseudo-terminal: the test types and reads the screen.

use crate::kit::Home;
use manent_testing::terminal;
use rustix::termios::{LocalModes, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthChar;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running command and what its terminal shows.
pub struct Watched {
    child: Child,
    controller: File,
    user: File,
    bytes: Receiver<Vec<u8>>,
    pub shown: Shown,
}

impl Watched {
    /// Starts a command on a terminal.
    pub fn start(home: &Home, arguments: &[&str], columns: u16, rows: u16) -> Self {
        let mut command = home.command(arguments);
        command.env("TERM", "xterm-256color");
        let (controller, user) = terminal::open(columns, rows).expect("a terminal");
        let side = || user.try_clone().expect("a terminal");
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().expect("the command starts");
        let (sender, bytes) = channel();
        let mut reader = controller.try_clone().expect("a terminal");
        std::thread::spawn(move || {
            let mut piece = [0; 4_096];
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                if sender.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, controller, user, bytes, shown: Shown::new(usize::from(columns), usize::from(rows)) }
    }

    /// Presses keys.
    pub fn types(&mut self, keys: &str) {
        self.controller.write_all(keys.as_bytes()).expect("a terminal that listens");
    }

    /// Pulls at the window.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.shown.resize(usize::from(columns), usize::from(rows));
        terminal::resize(&self.controller, columns, rows).expect("a terminal");
    }

    /// Watches until the terminal shows something.
    #[track_caller]
    pub fn until(&mut self, what: &str, is_so: impl Fn(&Shown) -> bool) {
        let started = Instant::now();
        while !is_so(&self.shown) {
            let left = PATIENCE.checked_sub(started.elapsed());
            match left.and_then(|left| self.bytes.recv_timeout(left).ok()) {
                Some(bytes) => self.shown.take(&bytes),
                None => panic!("{what} was never seen:\n{}", self.shown.text()),
            }
        }
    }

    /// Watches until a text is on the screen.
    #[track_caller]
    pub fn sees(&mut self, text: &str) {
        self.until(text, |shown| shown.text().contains(text));
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
    }

    /// Waits for its end, and returns its code and what the terminal shows then, which must be as it was.
    pub fn ended(mut self) -> (i32, Shown) {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            if let Ok(bytes) = self.bytes.recv_timeout(Duration::from_millis(20)) {
                self.shown.take(&bytes);
            }
            assert!(started.elapsed() < PATIENCE, "it does not end:\n{}", self.shown.text());
        };
        while let Ok(bytes) = self.bytes.recv_timeout(Duration::from_millis(200)) {
            self.shown.take(&bytes);
        }
        let modes = tcgetattr(&self.user).expect("a terminal").local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "lines are typed again");
        assert_eq!(self.shown.modes, [7, 25], "lines wrap, the cursor is seen, the usual screen is back");
        (status.code().unwrap_or(-1), self.shown)
    }
}

/// What a terminal shows: only as much of one as the command needs.
pub struct Shown {
    width: usize,
    rows: Vec<Vec<char>>,
    /// The usual screen, while another one is shown.
    usual: Option<Vec<Vec<char>>>,
    cursor: (usize, usize),
    unread: Vec<u8>,
    /// The private modes that are on.
    pub modes: Vec<u32>,
    /// What was said to the terminal itself.
    pub commands: Vec<String>,
    /// Something was written beyond the last column.
    pub overflowed: bool,
    /// Everything that came.
    pub raw: String,
}

/// The second column of a wide character.
const BEHIND: char = '\0';

impl Shown {
    fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            rows: vec![Vec::new(); height],
            usual: None,
            cursor: (0, 0),
            unread: Vec::new(),
            modes: vec![7, 25],
            commands: Vec::new(),
            overflowed: false,
            raw: String::new(),
        }
    }

    fn resize(&mut self, width: usize, height: usize) {
        self.width = width;
        self.rows = vec![Vec::new(); height];
    }

    /// Returns the rows as text.
    pub fn lines(&self) -> Vec<String> {
        let row = |row: &Vec<char>| row.iter().filter(|character| **character != BEHIND).collect::<String>();
        self.rows.iter().map(|characters| row(characters).trim_end().to_owned()).collect()
    }

    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    fn take(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.unread) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let mut text = String::from_utf8_lossy(&self.unread[..whole]).into_owned();
        // A sequence that is not complete waits for the rest of it.
        let mut complete = 0;
        while let Some(start) = text[complete..].find('\u{1b}').map(|start| complete + start) {
            match sequence(&text[start..]) {
                Some(length) => complete = start + length,
                None => text.truncate(start),
            }
            complete = complete.min(text.len());
        }
        self.unread.drain(..text.len());
        self.raw.push_str(&text);
        let mut rest = text.as_str();
        while let Some(character) = rest.chars().next() {
            let length = if character == '\u{1b}' { sequence(rest).expect("complete") } else { character.len_utf8() };
            match character {
                '\u{1b}' => self.command(&rest[1..length]),
                '\r' => self.cursor.1 = 0,
                '\n' => self.line_feed(),
                _ => self.put(character),
            }
            rest = &rest[length..];
        }
    }

    fn line_feed(&mut self) {
        if self.cursor.0 + 1 < self.rows.len() {
            self.cursor.0 += 1;
        } else {
            self.rows.remove(0);
            self.rows.push(Vec::new());
        }
    }

    fn put(&mut self, character: char) {
        let width = character.width().unwrap_or(0);
        if width == 0 {
            return;
        }
        if self.cursor.1 + width > self.width {
            self.overflowed = true;
            if self.modes.contains(&7) {
                self.cursor.1 = 0;
                self.line_feed();
            }
        }
        let (row, column) = self.cursor;
        let Some(row) = self.rows.get_mut(row) else { return };
        if row.len() < column + width {
            row.resize(column + width, ' ');
        }
        row[column] = character;
        row[column + 1..column + width].fill(BEHIND);
        self.cursor.1 += width;
    }

    fn command(&mut self, command: &str) {
        if command.starts_with(']') {
            self.commands.push(command.to_owned());
            return;
        }
        let (numbers, last) = command[1..].split_at(command.len() - 2);
        let number = |place: usize| numbers.split(';').nth(place).and_then(|text| text.parse::<usize>().ok());
        match last {
            "H" => self.cursor = (number(0).unwrap_or(1) - 1, number(1).unwrap_or(1) - 1),
            "K" => {
                let (row, column) = self.cursor;
                if let Some(row) = self.rows.get_mut(row) {
                    row.truncate(column);
                }
            }
            "h" | "l" => self.mode(numbers.trim_start_matches('?').parse().expect("a mode"), last == "h"),
            "m" => {}
            _ => panic!("an unknown escape sequence: {command:?}"),
        }
    }

    fn mode(&mut self, mode: u32, on: bool) {
        self.modes.retain(|other| *other != mode);
        if on {
            self.modes.push(mode);
            self.modes.sort();
        }
        if mode == 1049 {
            let empty = vec![Vec::new(); self.rows.len()];
            match on {
                true => self.usual = Some(std::mem::replace(&mut self.rows, empty)),
                false => self.rows = self.usual.take().expect("another screen"),
            }
            self.cursor = (0, 0);
        }
    }
}

/// Returns how long the sequence is that a text begins with; nothing while it is not complete.
fn sequence(text: &str) -> Option<usize> {
    match text.as_bytes().get(1)? {
        b'[' => text[2..].find(|character: char| ('@'..='~').contains(&character)).map(|last| last + 3),
        b']' => text.find("\u{1b}\\").map(|last| last + 2),
        other => panic!("an unknown escape sequence: {other}"),
    }
}
