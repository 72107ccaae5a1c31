//! Output: tables and colours on a terminal, tabs in a pipe, JSON with `--json`.

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Headings and labels.
pub const BOLD: Style = Style::new().bold();
/// Secondary text.
pub const DIM: Style = Style::new().dimmed();
/// Ids.
pub const ID: Style = AnsiColor::Cyan.on_default();
/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Warning.
pub const WARN: Style = AnsiColor::Yellow.on_default();
/// Error.
pub const BAD: Style = AnsiColor::Red.on_default();

/// Output options.
pub struct Output {
    /// One JSON document instead of anything else.
    pub json: bool,
    /// Say only what was asked for.
    pub quiet: bool,
    /// Do not ask.
    pub yes: bool,
    /// Never use a pager.
    pub no_pager: bool,
}

/// Returns a count with its noun: "1 message", "2 messages".
pub fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    match count.try_into().unwrap_or_default() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// A value in a table, with how it looks on a terminal.
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Shows a value.
    pub fn new(value: impl ToString) -> Self {
        Self { text: value.to_string(), style: Style::new() }
    }

    /// Shows a value in a style.
    pub fn styled(value: impl ToString, style: Style) -> Self {
        Self { text: value.to_string(), style }
    }
}

/// A table. The column named last in `grows` takes what room is left and is cut when there is too little.
pub struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    grows: usize,
}

impl Table {
    /// Begins a table; `grows` is the column that is cut to fit.
    pub fn new(headings: &[&'static str], grows: usize) -> Self {
        Self { headings: headings.to_vec(), rows: Vec::new(), grows }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    fn on_terminal(&self, width: usize) -> String {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| heading.width()).collect();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                widths[column] = widths[column].max(one_line(&cell.text).width());
            }
        }
        let gaps = 2 * (widths.len().saturating_sub(1));
        let others: usize = widths.iter().enumerate().filter(|(column, _)| *column != self.grows).map(|(_, w)| w).sum();
        widths[self.grows] = widths[self.grows].min(width.saturating_sub(others + gaps).max(12));
        let mut text = String::new();
        let headings = self.headings.iter().map(|heading| Cell::styled(heading, BOLD));
        write_row(&mut text, headings.collect::<Vec<_>>().as_slice(), &widths);
        for row in &self.rows {
            write_row(&mut text, row, &widths);
        }
        text
    }

    /// One line a row, tabs between, whatever would break that written as `\t`, `\n`.
    fn in_pipe(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().map(|cell| {
                cell.text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
            });
            text.push_str(&cells.collect::<Vec<_>>().join("\t"));
            text.push('\n');
        }
        text
    }
}

fn write_row(text: &mut String, cells: &[Cell], widths: &[usize]) {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let shown = cut(&one_line(&cell.text), *width);
        let padding = " ".repeat(width.saturating_sub(shown.width()) + 2);
        let _ = write!(line, "{}{shown}{}{padding}", cell.style.render(), cell.style.render_reset());
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Returns a text in which nothing moves the cursor: other people's titles must not paint on our terminal.
pub fn one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).filter(visible).collect()
}

/// Returns a text of several lines in which nothing but line ends and tabs moves the cursor.
pub fn plain(text: &str) -> String {
    let keep = |character: &char| !character.is_control() || matches!(character, '\n' | '\t');
    text.chars().filter(keep).filter(visible).collect()
}

/// Marks that turn the direction of what follows could make a line read as another one.
pub fn visible(character: &char) -> bool {
    !matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// Cuts a text to a width in columns; Chinese takes two a character.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 0;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        shown.push(character);
    }
    shown + "…"
}

impl Output {
    /// Returns whether the output goes to a terminal.
    pub fn is_terminal(&self) -> bool {
        std::io::stdout().is_terminal()
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
    }

    /// Shows one JSON document.
    pub fn json<T: Serialize>(&self, value: &T) -> Result<()> {
        let text = match self.is_terminal() {
            true => serde_json::to_string_pretty(value)?,
            false => serde_json::to_string(value)?,
        };
        print(&format!("{text}\n"))
    }

    /// Shows a table, or its rows in a pipe.
    pub fn table(&self, table: &Table) -> Result<()> {
        match self.is_terminal() {
            true => self.page(&table.on_terminal(self.width())),
            false => print(&table.in_pipe()),
        }
    }

    /// Shows a text; a long one through the pager.
    pub fn page(&self, text: &str) -> Result<()> {
        let height = terminal_size::terminal_size().map_or(usize::MAX, |(_, height)| usize::from(height.0));
        if self.no_pager || !self.is_terminal() || text.lines().count() < height {
            return print(text);
        }
        let named = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let pager = named("MANENT_PAGER").or_else(|| named("PAGER")).unwrap_or_else(|| "less -FRX".to_owned());
        let mut words = pager.split_whitespace();
        let Some(program) = words.next() else { return print(text) };
        let started = Command::new(program).args(words).stdin(Stdio::piped()).spawn();
        let Ok(mut child) = started else { return print(text) };
        if let Some(mut input) = child.stdin.take() {
            let styled = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
            let text = if styled { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
            // A reader who leaves the pager early has seen enough.
            let _ = input.write_all(text.as_bytes());
        }
        child.wait().context("waiting for the pager")?;
        Ok(())
    }

    /// Says what was done, to a person.
    pub fn done(&self, text: &str) {
        if !self.quiet && std::io::stderr().is_terminal() {
            anstream::eprintln!("{}✓{} {text}", GOOD.render(), GOOD.render_reset());
        }
    }

    /// Says what the answer leaves out, also in a pipe: it goes to standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            anstream::eprintln!("{}{text}{}", DIM.render(), DIM.render_reset());
        }
    }

    /// Says how to go on, to a person.
    pub fn hint(&self, text: &str) {
        if !self.quiet && std::io::stderr().is_terminal() {
            anstream::eprintln!("{}{text}{}", DIM.render(), DIM.render_reset());
        }
    }

    /// Says what needs a look.
    pub fn warn(&self, text: &str) {
        anstream::eprintln!("{}!{} {text}", WARN.render(), WARN.render_reset());
    }

    /// Asks before something is destroyed; without a person to ask, `--yes` must have been given.
    pub fn confirm(&self, question: &str) -> Result<()> {
        if self.yes {
            return Ok(());
        }
        if !std::io::stdin().is_terminal() {
            anyhow::bail!("{question} Say --yes to do it without being asked");
        }
        anstream::eprint!("{question} [y/N] ");
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).context("reading your answer")?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => anyhow::bail!("nothing was done"),
        }
    }
}

/// Writes to standard output; a closed pipe is not an error.
pub fn print(text: &str) -> Result<()> {
    match anstream::stdout().write_all(text.as_bytes()).and_then(|()| anstream::stdout().flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("writing to standard output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn table() -> Table {
        let mut table = Table::new(&["ID", "TITLE", "N"], 1);
        table.row(vec![Cell::new("a"), Cell::new("北京今天天气怎么样，明天呢"), Cell::new(3)]);
        table.row(vec![Cell::new("bb"), Cell::new("two\tcolumns\u{1b}[31m"), Cell::new(12)]);
        table
    }

    #[test]
    fn chinese_takes_two_columns_and_the_title_is_cut() {
        let shown = anstream::adapter::strip_str(&table().on_terminal(26)).to_string();
        expect![[r#"
            ID  TITLE               N
            a   北京今天天气怎么…   3
            bb  two columns [31m    12
        "#]]
        .assert_eq(&shown);
    }

    #[test]
    fn only_one_is_singular() {
        assert_eq!([0i64, 1, 2].map(|count| counted(count, "message")), ["0 messages", "1 message", "2 messages"]);
    }

    #[test]
    fn a_row_is_a_line_in_a_pipe() {
        assert_eq!(table().in_pipe().lines().count(), 2);
        assert!(table().in_pipe().contains("two\\tcolumns"));
    }
}
