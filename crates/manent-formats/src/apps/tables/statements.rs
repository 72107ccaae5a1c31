//! SQL statements that create the tables.

/// Which database runs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// To the letter as the design has them.
    Sqlite,
    /// With the types that PostgreSQL has.
    Postgres,
}

/// Treatment of the table that the design names and never defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projects {
    /// It stays a name.
    Named,
    /// It is made, behind the others.
    Defined,
}

const DRAFT: [&str; 8] = [
    "CREATE TABLE conversation (\n    conv_id TEXT PRIMARY KEY,\n    project TEXT,\n    sequence TEXT DEFAULT 'sequential' NOT NULL,\n    status TEXT DEFAULT 'active' NOT NULL,\n    created_at DATETIME DEFAULT CURRENT_TIMESTAMP,\n    metadata TEXT\n);",
    "CREATE INDEX idx_conversation_project ON conversation (project);",
    "CREATE INDEX idx_conversation_status ON conversation (status);",
    "CREATE INDEX idx_conversation_created_at ON conversation (created_at);",
    "CREATE TABLE message (\n    message_id TEXT PRIMARY KEY,\n    parent_message_id TEXT,\n    timestamp DATETIME DEFAULT CURRENT_TIMESTAMP,\n    conversation_id TEXT NOT NULL,\n    role TEXT,\n    text TEXT NOT NULL,\n    metadata TEXT,\n    FOREIGN KEY (conversation_id) REFERENCES conversation(conv_id),\n    FOREIGN KEY (parent_message_id) REFERENCES message(message_id)\n);",
    "CREATE INDEX idx_message_conversation_id ON message (conversation_id);",
    "CREATE INDEX idx_message_parent_message_id ON message (parent_message_id);",
    "CREATE INDEX idx_message_timestamp ON message (timestamp);",
];

/// Our own: `conversation.project` holds its key, and no constraint says so, for the design's own statement has none.
const PROJECT: &str = "CREATE TABLE project (\n    project_id TEXT PRIMARY KEY,\n    name TEXT,\n    created_at DATETIME DEFAULT CURRENT_TIMESTAMP,\n    metadata TEXT\n);";

const SHIPPED: [&str; 2] = [
    "CREATE TABLE Conversation (\n    conversation_id TEXT PRIMARY KEY NOT NULL,\n    project TEXT,\n    brand TEXT,\n    sequence TEXT NOT NULL DEFAULT 'sequential',\n    status TEXT NOT NULL DEFAULT 'active',\n    created_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,\n    latest_message_id TEXT,\n    metadata TEXT\n);",
    "CREATE TABLE Message (\n    message_id TEXT PRIMARY KEY NOT NULL,\n    conversation_id TEXT NOT NULL,\n    role TEXT NOT NULL,\n    text TEXT NOT NULL,\n    parent_message_id TEXT,\n    timestamp DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,\n    metadata TEXT,\n    FOREIGN KEY (conversation_id) REFERENCES Conversation(conversation_id) ON DELETE CASCADE,\n    FOREIGN KEY (parent_message_id) REFERENCES Message(message_id) ON DELETE CASCADE\n);",
];

/// Returns the statements that make the tables of the design, in its order.
pub fn statements(dialect: Dialect, projects: Projects) -> Vec<String> {
    let all = DRAFT.into_iter().chain((projects == Projects::Defined).then_some(PROJECT));
    all.map(|statement| match dialect {
        Dialect::Sqlite => statement.to_owned(),
        // PostgreSQL has no DATETIME; everything else means the same to both.
        Dialect::Postgres => statement.replace(" DATETIME ", " TIMESTAMP "),
    })
    .collect()
}

/// The statements for a new file.
pub(crate) fn fresh(generation: crate::apps::tables::Generation) -> &'static [&'static str] {
    match generation {
        crate::apps::tables::Generation::Draft => &DRAFT,
        crate::apps::tables::Generation::Shipped => &SHIPPED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn postgres_has_its_own_word_for_a_time() {
        let statements = statements(Dialect::Postgres, Projects::Defined);
        assert!(statements.iter().all(|statement| !statement.contains("DATETIME")));
        expect![[r#"
            CREATE TABLE project (
                project_id TEXT PRIMARY KEY,
                name TEXT,
                created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                metadata TEXT
            );"#]]
        .assert_eq(&statements[8]);
        expect![[r#"
            CREATE TABLE message (
                message_id TEXT PRIMARY KEY,
                parent_message_id TEXT,
                timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
                conversation_id TEXT NOT NULL,
                role TEXT,
                text TEXT NOT NULL,
                metadata TEXT,
                FOREIGN KEY (conversation_id) REFERENCES conversation(conv_id),
                FOREIGN KEY (parent_message_id) REFERENCES message(message_id)
            );"#]]
        .assert_eq(&statements[4]);
    }
}
