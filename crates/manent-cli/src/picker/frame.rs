//! Layout of the picker: the query, the hits, and a preview of the chosen one.

use super::{Picker, Scope};
use crate::commands::search::{HIT, about, role_of, snippet};
use crate::commands::show::role_style;
use crate::output::{BAD, BOLD, DIM};
use crate::styled_line::StyledLine;
use crate::time;
use anstyle::Style;
use manent::{Hit, SearchOrder};

/// With fewer rows there is no room for a preview.
const PREVIEW_ROWS_MIN: usize = 12;
/// With fewer columns only the title and the words are shown.
const WIDE: usize = 72;

/// The rows of the screen, and the row and column of the cursor.
pub struct Frame {
    pub rows: Vec<StyledLine>,
    pub cursor: (usize, usize),
}

/// Returns how many hits fit.
pub fn list_rows(height: usize) -> usize {
    match height {
        0..PREVIEW_ROWS_MIN => height.saturating_sub(2),
        _ => (height - 3) * 2 / 5,
    }
}

impl Picker<'_> {
    /// Draws everything for a size.
    pub fn frame(&self, width: usize, height: usize) -> Frame {
        let mut prompt = StyledLine::of("❯ ", BOLD);
        let (typed, column) = self.input.shown(width.saturating_sub(3));
        prompt.extend(typed);
        let mut rows = vec![prompt.cut(width), self.status().cut(width)];
        let list = list_rows(height);
        for number in self.top..self.top + list {
            let hit = self.hits.get(number);
            rows.push(hit.map_or_else(StyledLine::default, |hit| self.row(hit, number == self.chosen, width)));
        }
        if height >= PREVIEW_ROWS_MIN {
            rows.push(StyledLine::of(&"─".repeat(width), DIM));
            let room = height.saturating_sub(rows.len());
            if let Some(hit) = self.hits.get(self.chosen) {
                rows.extend(self.preview(hit, width, room));
            }
        }
        rows.resize(height, StyledLine::default());
        Frame { rows, cursor: (0, (2 + column).min(width.saturating_sub(1))) }
    }

    /// The number of hits, the scope, the order and the keys.
    fn status(&self) -> StyledLine {
        let mut line = StyledLine::default();
        if let Some(problem) = &self.problem {
            line.push(problem, BAD);
            return line;
        }
        if let Some(notice) = self.notice {
            line.push(notice, BOLD);
            line.push(" · ", DIM);
        }
        match (self.input.text().trim().is_empty(), &self.total) {
            (true, _) => line.push("type to search", DIM),
            (false, Some(total)) if total.more => line.push(&format!("more than {}", self.hits.len()), DIM),
            (false, Some(_)) => line.push(&counted(self.hits.len()), DIM),
            (false, None) => line.push("…", DIM),
        }
        let scope = match &self.scope {
            Scope::All => "all conversations".to_owned(),
            Scope::One(_, title) => format!("in {title}"),
            Scope::Everything => "with other branches and the trash".to_owned(),
        };
        let order = match self.order {
            SearchOrder::Newest => "newest first",
            SearchOrder::Relevance => "best first",
        };
        line.push(&format!(" · {scope} · {order}"), DIM);
        line.push("   Tab where  ^S order  Enter open  ^Y copy  Esc leave", DIM);
        line
    }

    fn row(&self, hit: &Hit, is_chosen: bool, width: usize) -> StyledLine {
        let style = if is_chosen { BOLD } else { Style::new() };
        let mut line = StyledLine::of(if is_chosen { "❯ " } else { "  " }, BOLD);
        let title = StyledLine::of(title_of(hit), style);
        match width {
            WIDE.. => {
                line.extend(StyledLine::of(&time::ago(hit.time, &self.context.now), DIM).filled(16));
                line.push(" ", DIM);
                line.extend(StyledLine::of(role_of(hit), role_style(role_of(hit))).filled(9));
                line.push(" ", DIM);
                line.extend(title.filled(width / 5));
            }
            _ => line.extend(title.cut(width / 3)),
        }
        line.push("  ", DIM);
        let room = width.saturating_sub(line.width());
        line.extend(snippet(hit, style).near(HIT, room));
        line.cut(width)
    }

    fn preview(&self, hit: &Hit, width: usize, room: usize) -> Vec<StyledLine> {
        let mut head = StyledLine::of(title_of(hit), BOLD);
        head.push(&format!("  {}", about(hit, &self.context.now)), DIM);
        let mut rows = vec![head.cut(width)];
        let beside = |neighbour: &manent::ContextMessage| {
            StyledLine::of(&format!("  {}: {}", neighbour.role, neighbour.text), DIM).cut(width)
        };
        rows.extend(hit.before.iter().map(beside));
        let body = match self.preview.as_ref().filter(|preview| preview.is_of(hit)) {
            Some(preview) => preview.lines.clone(),
            None => vec![snippet(hit, Style::new())],
        };
        let body: Vec<StyledLine> = body.into_iter().flat_map(|line| line.wrapped(width.saturating_sub(2))).collect();
        let body_room = room.saturating_sub(rows.len() + hit.after.len()).max(1);
        // Scrolls so that the first hit is visible, with some lines before it.
        let found = body.iter().position(|line| line.has(HIT)).unwrap_or(0);
        let first = found.saturating_sub(body_room / 3).min(body.len().saturating_sub(body_room));
        rows.extend(body.into_iter().skip(first).take(body_room).map(|line| {
            let mut indented = StyledLine::of("  ", DIM);
            indented.extend(line);
            indented.cut(width)
        }));
        rows.extend(hit.after.iter().map(beside));
        rows.truncate(room);
        rows
    }
}

fn counted(hits: usize) -> String {
    match hits {
        0 => "nothing found".to_owned(),
        1 => "1 hit".to_owned(),
        hits => format!("{hits} hits"),
    }
}

fn title_of(hit: &Hit) -> &str {
    if hit.title.is_empty() { "(untitled)" } else { &hit.title }
}
