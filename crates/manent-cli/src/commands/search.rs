//! `manent search`: full-text search.

use super::conversation::{spelled, word};
use crate::context::CommandContext;
use crate::output::{BOLD, Cell, DIM, ID, Table, counted, cut, one_line};
use crate::styled_line::StyledLine;
use crate::time;
use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::Args;
use jiff::Zoned;
use manent::store::{HITS_MAX, IdKind};
use manent::text::{Field, QueryProblem};
use manent::{
    ConversationId, ConversationStatus, CountMode, Grouping, Hit, Include, SearchCursor, SearchOrder, SearchPage,
    SearchQuery,
};
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// Results of a search.
pub const HIT: Style = AnsiColor::Yellow.on_default().bold().underline();

/// Search messages, titles and tags.
#[derive(Args)]
#[command(after_help = "Words that all must be there, \"a phrase\", -not, one OR other, ( ), begin*, and filters: \
                        role: kind: tag: project: model: tool: meta.KEY: before: after: in:title has:tool|media|code.\n\
                        Quote the whole query, so that the shell leaves it alone: manent search '\"exact words\" -draft \
                        after:7d'\n\
                        Finding nothing is no failure: the exit code is 0. It is 2 for a query that cannot be read.")]
pub struct Search {
    /// Query; several arguments are joined.
    #[arg(required_unless_present = "interactive")]
    query: Vec<String>,
    /// Search interactively: type, choose, open.
    #[arg(long, short, conflicts_with_all = ["group", "count", "after", "json"])]
    interactive: bool,
    /// newest, or relevance (best of the newest 500 matches).
    #[arg(long, value_parser = word::<SearchOrder>, default_value = "newest")]
    order: SearchOrder,
    /// Show the first hit and the number of hits per conversation.
    #[arg(long)]
    group: bool,
    /// Only in this conversation.
    #[arg(long = "in", value_name = "CONVERSATION")]
    within: Option<String>,
    /// Include the trash.
    #[arg(long)]
    trashed: bool,
    /// Include messages that are not on the current path.
    #[arg(long)]
    branches: bool,
    /// Include reasoning.
    #[arg(long)]
    reasoning: bool,
    /// Maximum number; 0 for all.
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: u32,
    /// Continue from this cursor of the previous page.
    #[arg(long, value_name = "CURSOR")]
    after: Option<SearchCursor>,
    /// Print only the number of hits, up to 1,000.
    #[arg(long)]
    count: bool,
}

/// A syntax error in a query, with a mark under its position.
#[derive(Debug, thiserror::Error)]
#[error("{}", pointed(query, problem))]
pub struct QueryError {
    query: String,
    problem: QueryProblem,
}

impl Search {
    pub async fn run(self, context: &CommandContext) -> Result<()> {
        let query = self.query(context).await?;
        if self.interactive {
            return open_picked(context, query).await;
        }
        if self.count {
            let query = SearchQuery { counting: CountMode::Exact, limit: 1, neighbours: 0, ..query };
            let total = search(context, &query).await?.total;
            return match context.output.json {
                true => context.output.json(&total),
                false => context.made(&[format!("{}{}", total.n, if total.more { "+" } else { "" })]),
            };
        }
        let found = all(context, query, self.limit).await?;
        if context.output.json {
            return context.output.json(&found);
        }
        let remarks = remarks(&found);
        if context.output.is_terminal() {
            let hits: Vec<ConversationId> = found.hits.iter().map(|hit| hit.conversation).collect();
            let ids = context.short_ids(IdKind::Conversation, &hits).await?;
            return context.output.page(&rendered(context, &found, &ids, &remarks));
        }
        context.output.table(&table(&found))?;
        remarks.iter().for_each(|remark| context.output.hint(remark));
        Ok(())
    }

    async fn query(&self, context: &CommandContext) -> Result<SearchQuery> {
        let within: Option<ConversationId> = match &self.within {
            Some(text) => Some(context.conversation(text).await?),
            None => None,
        };
        Ok(SearchQuery {
            text: self.query.join(" "),
            order: self.order,
            grouping: if self.group { Grouping::Conversations } else { Grouping::Flat },
            within,
            include: Include { trashed: self.trashed, branches: self.branches, reasoning: self.reasoning },
            offset_seconds: context.now.offset().seconds(),
            after: self.after,
            ..SearchQuery::default()
        })
    }
}

#[cfg(unix)]
async fn open_picked(context: &CommandContext, query: SearchQuery) -> Result<()> {
    let Some(picked) = crate::picker::pick(context, query).await? else { return Ok(()) };
    let message = picked.message.map(|message| message.to_string()).unwrap_or_default();
    crate::output::print(&format!("{}\t{message}\n", picked.conversation))?;
    super::show::Show::at(picked.conversation, picked.message).run(context).await
}

#[cfg(not(unix))]
async fn open_picked(_: &CommandContext, _: SearchQuery) -> Result<()> {
    anyhow::bail!("-i needs a Unix terminal; `manent search QUERY` prints what it finds")
}

async fn search(context: &CommandContext, query: &SearchQuery) -> Result<SearchPage> {
    context.database.search(query).await.map_err(|error| match error {
        manent::Error::Query(problem) => QueryError { query: query.text.clone(), problem }.into(),
        other => other.into(),
    })
}

/// Reads pages up to the limit.
async fn all(context: &CommandContext, mut query: SearchQuery, limit: u32) -> Result<SearchPage> {
    let wanted = if limit == 0 { usize::MAX } else { limit as usize };
    query.limit = wanted.min(HITS_MAX as usize) as u32;
    let mut found = search(context, &query).await?;
    while let (Some(next), true) = (found.next, found.hits.len() < wanted) {
        query.after = Some(next);
        query.limit = (wanted - found.hits.len()).min(HITS_MAX as usize) as u32;
        let mut page = search(context, &query).await?;
        found.hits.append(&mut page.hits);
        (found.next, found.coverage) = (page.next, page.coverage);
        found.total.n = found.total.n.max(found.hits.len() as u32);
        found.total.more = page.total.more;
        (found.timed_out, found.micros) = (found.timed_out | page.timed_out, found.micros + page.micros);
    }
    Ok(found)
}

/// Notes below the hits: index coverage, timeout.
fn remarks(found: &SearchPage) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(next) = found.next {
        remarks.push(format!("more than {}; for the next ones add --after {next}", found.hits.len()));
    }
    if found.timed_out {
        remarks.push("time ran out before everything was searched".to_owned());
    }
    if !found.coverage.complete {
        let waiting = found.coverage.waiting.max(found.coverage.last - found.coverage.position);
        remarks.push(format!("the index is being built: {} not searched yet", counted(waiting, "change")));
    }
    remarks
}

/// One line per hit, for other programs.
fn table(found: &SearchPage) -> Table {
    let mut table = Table::new(&["CONVERSATION", "MESSAGE", "TIME", "ROLE", "TITLE", "TEXT"], 5);
    for hit in &found.hits {
        let message = hit.message.map(|message| message.to_string()).unwrap_or_default();
        table.row(vec![
            Cell::new(hit.conversation),
            Cell::new(message),
            Cell::new(hit.time),
            Cell::new(role_of(hit)),
            Cell::new(&hit.title),
            Cell::new(&hit.snippet.text),
        ]);
    }
    table
}

/// Hits grouped under the titles of their conversations.
/// `ids` are the conversations of the hits, abbreviated.
fn rendered(context: &CommandContext, found: &SearchPage, ids: &[String], remarks: &[String]) -> String {
    let (mut text, mut heading) = (String::new(), None);
    for (hit, id) in found.hits.iter().zip(ids) {
        if heading.replace(hit.conversation) != Some(hit.conversation) {
            let mut line = match (hit.field, hit.title.as_str()) {
                (Field::Title, _) => snippet(hit, BOLD),
                (_, "") => StyledLine::of("(untitled)", BOLD),
                (_, title) => StyledLine::of(title, BOLD),
            };
            line.push(&format!("  {id}"), ID);
            let _ = writeln!(text, "{}", line.styled());
        }
        if hit.message.is_some() || hit.field == Field::Tags {
            let role = role_of(hit);
            let mut line = StyledLine::of(&format!("  ● {role}"), super::show::role_style(role));
            line.push(&format!("  {}", about(hit, &context.now)), DIM);
            let _ = writeln!(text, "{}", line.styled());
            for line in snippet(hit, Style::new()).wrapped(context.output.width().saturating_sub(4)) {
                let _ = writeln!(text, "    {}", line.styled());
            }
        } else {
            let _ = writeln!(text, "  {}{}{}", DIM.render(), about(hit, &context.now), DIM.render_reset());
        }
        text.push('\n');
    }
    let mut last = remarks.to_vec();
    match found.hits.iter().find_map(|hit| hit.message) {
        Some(message) => last.push(format!("read on there: manent show --around {message}")),
        None if found.hits.is_empty() => last.insert(0, "nothing was found".to_owned()),
        None => {}
    }
    for remark in last {
        let _ = writeln!(text, "{}{remark}{}", DIM.render(), DIM.render_reset());
    }
    text
}

/// The snippet on one line.
pub fn snippet(hit: &Hit, style: Style) -> StyledLine {
    let mut line = StyledLine::default();
    if hit.snippet.before {
        line.push("…", style);
    }
    line.push_marked(&hit.snippet.text, &hit.snippet.highlights, style, HIT);
    if hit.snippet.after {
        line.push("…", style);
    }
    line
}

/// Role of the message, or kind of the hit.
pub fn role_of(hit: &Hit) -> &str {
    match (&hit.role, hit.field) {
        (Some(role), _) => role,
        (None, Field::Tags) => "tags",
        (None, Field::Title) => "title",
        (None, _) => "summary",
    }
}

/// Location, time and flags of a hit.
pub fn about(hit: &Hit, now: &Zoned) -> String {
    let mut facts = vec![time::ago(hit.time, now)];
    facts.extend(hit.author.as_ref().map(|author| {
        let name = if author.name.is_empty() { &author.id } else { &author.name };
        cut(&one_line(name), 24)
    }));
    facts.extend(hit.position.map(|position| format!("#{position}")));
    facts.extend(hit.message.map(|message| message.to_string()));
    if !matches!(hit.field, Field::Text | Field::Tags) {
        facts.push(format!("in the {}", spelled(&hit.field).replace('_', " ")));
    }
    if !hit.on_path {
        facts.push("on another branch".to_owned());
    }
    match hit.status {
        ConversationStatus::Trashed => facts.push("in the trash".to_owned()),
        ConversationStatus::Archived => facts.push("archived".to_owned()),
        _ => {}
    }
    if let Some(count) = &hit.in_conversation {
        facts.push(format!("{}{} in all", count.n, if count.more { "+" } else { "" }));
    }
    facts.join(" · ")
}

/// Formats a syntax error with its position.
fn pointed(query: &str, problem: &QueryProblem) -> String {
    /// Number of characters shown around the position in a long query.
    const AROUND: usize = 30;
    let skipped = problem.at.saturating_sub(AROUND);
    let before = one_line(&query.chars().skip(skipped).take(problem.at - skipped).collect::<String>());
    let behind = one_line(&query.chars().skip(problem.at).take(AROUND).collect::<String>());
    let lead = if skipped > 0 { "…" } else { "" };
    let caret = " ".repeat(lead.width() + before.width());
    format!("{}\n  {lead}{before}{behind}\n  {caret}^", problem.why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use manent::text::{Clock, Query};

    #[test]
    fn the_mark_stands_under_the_place() {
        let said: Vec<String> = ["天气 \"北京", "\u{1b}[2J role:", &format!("{} (", "长".repeat(90))]
            .iter()
            .map(|query| pointed(query, &Query::parse(query, Clock::default()).expect_err("unreadable")))
            .collect();
        expect![[r#"
            this quotation mark is not closed
              天气 "北京
                   ^
            role: needs a value
               [2J role:
                        ^
            one word stands in a query at most 64 times
              长长长长长长长长长长长长长长长长长长长长长长长长长长长长长长
              ^"#]]
        .assert_eq(&said.join("\n"));
    }
}
