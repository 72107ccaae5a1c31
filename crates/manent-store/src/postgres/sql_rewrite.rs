//! SQL rewriter: adds the tenant to a statement that was written without one.
//!
//! The statements of `engine/` do not mention tenants, because a SQLite file holds only one. Here every table gets one:
//! each reference to a table that is read becomes a subquery of the tenant's rows, which the planner flattens into a
//! condition; updates and deletes get the condition, and inserts get the column. So no statement can forget it.

/// The tables that have rows of tenants.
pub(super) const TABLES: [&str; 42] = [
    "author",
    "blob",
    "blob_piece",
    "blob_use",
    "bookmark",
    "branch",
    "chunk",
    "conversation",
    "counter",
    "document",
    "event",
    "fold",
    "input",
    "journal",
    "lease",
    "memory",
    "message",
    "meta",
    "model_call",
    "name",
    "note",
    "origin",
    "participant",
    "piece",
    "project",
    "quarantine",
    "request",
    "scratch",
    "search_cursor",
    "search_doc",
    "source",
    "stat_active",
    "stat_cell",
    "stat_conversation",
    "stat_member",
    "stat_total",
    "state",
    "stream",
    "tag",
    "tool_call",
    "tool_step",
    "vector",
];

/// The tables of the index: rebuilt from the others, and in no backup. The cursor is first: the indexer locks it.
pub(super) const INDEX_TABLES: [&str; 7] =
    ["search_cursor", "search_doc", "stat_conversation", "stat_member", "stat_cell", "stat_total", "stat_active"];

/// The tables of the system store begin with this; they have no rows of tenants.
const SYSTEM: &str = "system_";

/// Words that follow a table and are not another name for it.
const NO_ALIAS: [&str; 16] = [
    "where",
    "order",
    "limit",
    "left",
    "join",
    "on",
    "group",
    "union",
    "inner",
    "set",
    "values",
    "cross",
    "having",
    "returning",
    "and",
    "for",
];

/// Returns the statement with the tenant as its last parameter.
pub(super) fn with_tenant(sql: &str) -> String {
    let tokens = tokens(sql);
    if tokens.iter().any(|token| token.starts_with(SYSTEM)) {
        return sql.to_owned();
    }
    let tenant = format!("${}", last_parameter(&tokens) + 1);
    let first = tokens.iter().find(|token| !token.trim().is_empty()).map_or("", |token| token);
    match first {
        "insert" => inserted(&tokens, &tenant),
        "update" | "delete" => changed(&tokens, &tenant),
        _ => read(&tokens, &tenant),
    }
}

/// Returns an insertion that takes its row's number as the parameter behind the tenant.
pub(super) fn with_row_number(sql: &str) -> String {
    let last = last_parameter(&tokens(sql));
    let (tenant, no) = (format!("${}", last + 1), format!("${}", last + 2));
    let insertion = with_tenant(sql).replacen("(tenant, ", "(tenant, no, ", 1);
    insertion.replacen(&format!("({tenant}, "), &format!("({tenant}, {no}, "), 1)
}

/// Batching: returns a statement that does at once what another does for each of many parameter rows. The tenant is the
/// last parameter of the other one, and those before it have these kinds; each becomes a list.
pub(super) fn batched(sql: &str, kinds: &[&str]) -> String {
    let tenant = kinds.len() + 1;
    let each = |token: &str| match token.strip_prefix('$').and_then(|number| number.parse::<usize>().ok()) {
        Some(number) if number < tenant => ["q.p", &number.to_string()].concat(),
        _ => token.to_owned(),
    };
    let body: String = tokens(sql).into_iter().map(each).collect();
    let lists: Vec<String> = (1..tenant).map(|number| format!("${number}::{}[]", kinds[number - 1])).collect();
    let names: Vec<String> = (1..tenant).map(|number| format!("p{number}")).collect();
    let (lists, names) = (lists.join(", "), names.join(", "));
    if let Some((head, row)) = body.split_once("values (") {
        let row = row.trim_end().trim_end_matches(')');
        return [head, "select ", row, " from unnest(", &lists, ") as q(", &names, ")"].concat();
    }
    match body.split_once("where tenant") {
        Some((head, condition)) if body.starts_with("update") => {
            [head, "from unnest(", &lists, ") as q(", &names, ") where tenant", condition].concat()
        }
        _ => {
            let order = ["as q(", &names, ", question) cross join lateral ("].concat();
            ["select s.*, q.question from unnest(", &lists, ") with ordinality ", &order, &body, ") s"].concat()
        }
    }
}

/// Returns the first table that a statement names.
pub(super) fn table_of(sql: &str) -> &'static str {
    let named = |token: &&str| TABLES.iter().find(|table| *table == token).copied();
    tokens(sql).iter().find_map(named).unwrap_or_default()
}

/// Splits a statement into words, blanks, literals and signs; together they are the statement.
fn tokens(sql: &str) -> Vec<&str> {
    let kind = |byte: u8| match byte {
        b'_' | b'$' => 0,
        byte if byte.is_ascii_alphanumeric() => 0,
        byte if byte.is_ascii_whitespace() => 1,
        _ => 2,
    };
    let (bytes, mut all, mut from) = (sql.as_bytes(), Vec::new(), 0);
    while from < bytes.len() {
        let length = match bytes[from] {
            b'\'' => bytes[from + 1..].iter().position(|byte| *byte == b'\'').map_or(bytes.len() - from, |end| end + 2),
            byte if kind(byte) == 2 => 1,
            byte => bytes[from..].iter().take_while(|next| kind(**next) == kind(byte)).count(),
        };
        all.push(&sql[from..from + length]);
        from += length;
    }
    all
}

fn last_parameter(tokens: &[&str]) -> usize {
    tokens.iter().filter_map(|token| token.strip_prefix('$')?.parse().ok()).max().unwrap_or(0)
}

/// Returns the place of the next word or sign.
fn next_word(tokens: &[&str], from: usize) -> usize {
    (from..tokens.len()).find(|place| !tokens[*place].trim().is_empty()).unwrap_or(tokens.len())
}

/// Names the tenant wherever rows are read.
fn read(tokens: &[&str], tenant: &str) -> String {
    let (mut text, mut place) = (String::new(), 0);
    while place < tokens.len() {
        text.push_str(tokens[place]);
        place += 1;
        if !matches!(tokens[place - 1], "from" | "join") {
            continue;
        }
        let table = next_word(tokens, place);
        let Some(name) = tokens.get(table).filter(|name| TABLES.contains(name)) else { continue };
        let after = next_word(tokens, table + 1);
        let is_alias =
            |word: &&&str| word.starts_with(|first: char| first.is_ascii_alphabetic()) && !NO_ALIAS.contains(*word);
        let alias = tokens.get(after).filter(is_alias);
        let alias_or_name = alias.unwrap_or(name);
        text.push_str(&[" (select * from ", name, " where tenant = ", tenant, ") ", alias_or_name].concat());
        place = match alias {
            Some(_) => after + 1,
            None => table + 1,
        };
    }
    text
}

/// Adds the tenant to an update or a delete, and to the tables that its condition reads.
fn changed(tokens: &[&str], tenant: &str) -> String {
    let top = top_level(tokens);
    let start = top.iter().copied().find(|place| matches!(tokens[*place], "set" | "from")).unwrap_or(0);
    let condition = top.iter().copied().find(|place| *place > start && tokens[*place] == "where");
    let end = top.iter().copied().find(|place| tokens[*place] == "returning").unwrap_or(tokens.len());
    // The first `from` of a delete names the table that is changed, not one that is read.
    let head = next_word(tokens, start + 1) + 1;
    let begin = tokens[..head].concat();
    match condition {
        Some(condition) => format!(
            "{begin}{}where tenant = {tenant} and ({}) {}",
            read(&tokens[head..condition], tenant),
            read(&tokens[condition + 1..end], tenant),
            tokens[end..].concat()
        ),
        None => {
            format!("{begin}{} where tenant = {tenant} {}", read(&tokens[head..end], tenant), tokens[end..].concat())
        }
    }
}

/// Gives the rows of an insertion their tenant.
fn inserted(tokens: &[&str], tenant: &str) -> String {
    let top = top_level(tokens);
    let mut text = String::new();
    let mut place = 0;
    let source = top.iter().copied().find(|place| tokens[*place] == "values").unwrap_or(0);
    let conflict = top.iter().copied().find(|place| tokens[*place] == "conflict").unwrap_or(tokens.len());
    let columns = tokens.iter().position(|token| *token == "(").unwrap_or(0);
    while place < tokens.len() {
        let token = tokens[place];
        let is_row = token == "(" && place > source && place < conflict && top.contains(&place);
        let is_target = token == "(" && place == next_word(tokens, conflict + 1);
        match token {
            "(" if place == columns || is_target => text.push_str("(tenant, "),
            "(" if is_row => text.push_str(&format!("({tenant}, ")),
            token => text.push_str(token),
        }
        place += 1;
    }
    text
}

/// Returns the positions outside brackets; an opening bracket itself counts as outside.
fn top_level(tokens: &[&str]) -> Vec<usize> {
    let mut depth = 0;
    let mut places = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        if *token == ")" {
            depth -= 1;
        }
        if depth == 0 {
            places.push(place);
        }
        if *token == "(" {
            depth += 1;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squeezed(sql: &str) -> String {
        with_tenant(sql).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_read_is_read_from_the_tenant() {
        assert_eq!(
            squeezed("select no from name where kind = $1 and value = $2"),
            "select no from (select * from name where tenant = $3) name where kind = $1 and value = $2"
        );
        assert_eq!(
            squeezed(
                "select 1 from conversation c left join project p on p.no = c.no where exists (select 1 from tag t)"
            ),
            "select 1 from (select * from conversation where tenant = $1) c left join (select * from project where \
             tenant = $1) p on p.no = c.no where exists (select 1 from (select * from tag where tenant = $1) t)"
        );
    }

    #[test]
    fn what_is_changed_is_the_tenants() {
        assert_eq!(
            squeezed("update meta set value = $1 where name = 'from' or name = $2"),
            "update meta set value = $1 where tenant = $3 and ( name = 'from' or name = $2)"
        );
        assert_eq!(
            squeezed("delete from tag where conversation_no in (select no from conversation)"),
            "delete from tag where tenant = $1 and ( conversation_no in (select no from (select * from conversation \
             where tenant = $1) conversation))"
        );
        assert_eq!(squeezed("delete from chunk"), "delete from chunk where tenant = $1");
    }

    #[test]
    fn what_is_inserted_gets_the_tenant() {
        assert_eq!(
            squeezed("insert into tag (name_no, conversation_no) values ($1, $2) on conflict do nothing"),
            "insert into tag (tenant, name_no, conversation_no) values ($3, $1, $2) on conflict do nothing"
        );
        assert_eq!(
            squeezed("insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = $2"),
            "insert into meta (tenant, name, value) values ($3, $1, $2) on conflict (tenant, name) do update set value = $2"
        );
    }

    #[test]
    fn what_is_numbered_takes_the_next_number() {
        assert_eq!(
            with_row_number("insert into name (kind, value) values ($1, $2)"),
            "insert into name (tenant, no, kind, value) values ($3, $4, $1, $2)"
        );
        assert_eq!(table_of("insert into project (id, name) values ($1, $2)"), "project");
    }

    #[test]
    fn one_statement_does_it_for_all() {
        assert_eq!(
            batched(&with_tenant("insert into tag (name_no, conversation_no) values ($1, $2)"), &["int8", "int8"]),
            "insert into tag (tenant, name_no, conversation_no) select $3, q.p1, q.p2 from unnest($1::int8[], \
             $2::int8[]) as q(p1, p2)"
        );
        assert_eq!(
            batched(&with_tenant("update meta set value = $1 where name = $2"), &["bytea", "text"]).trim_end(),
            "update meta set value = q.p1 from unnest($1::bytea[], $2::text[]) as q(p1, p2) where tenant = $3 and \
             ( name = q.p2)"
        );
        assert_eq!(
            batched(&with_tenant("select no from name where value = $1"), &["text"]),
            "select s.*, q.question from unnest($1::text[]) with ordinality as q(p1, question) cross join lateral \
             (select no from (select * from name where tenant = $2) name where value = q.p1) s"
        );
    }

    #[test]
    fn a_statement_without_tables_stays_as_it_is() {
        assert_eq!(with_tenant("savepoint one"), "savepoint one");
    }
}
