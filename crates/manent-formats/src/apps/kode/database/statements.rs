//! SQL statements of the SDK's SQLite store.

pub(crate) const STATEMENTS: [&str; 15] = [
    "CREATE TABLE agents (\n  agent_id TEXT PRIMARY KEY,\n  template_id TEXT NOT NULL,\n  created_at TEXT NOT NULL,\n  config_version TEXT NOT NULL,\n  lineage TEXT NOT NULL,\n  message_count INTEGER NOT NULL DEFAULT 0,\n  last_sfp_index INTEGER NOT NULL DEFAULT -1,\n  last_bookmark TEXT,\n  breakpoint TEXT,\n  metadata TEXT NOT NULL\n)",
    "CREATE INDEX idx_agents_template_id ON agents(template_id)",
    "CREATE INDEX idx_agents_created_at ON agents(created_at)",
    "CREATE TABLE messages (\n  id TEXT PRIMARY KEY,\n  agent_id TEXT NOT NULL,\n  role TEXT NOT NULL,\n  content TEXT NOT NULL,\n  seq INTEGER NOT NULL,\n  metadata TEXT,\n  created_at INTEGER NOT NULL,\n  FOREIGN KEY (agent_id) REFERENCES agents(agent_id) ON DELETE CASCADE,\n  UNIQUE (agent_id, seq)\n)",
    "CREATE INDEX idx_messages_agent_id ON messages(agent_id)",
    "CREATE INDEX idx_messages_role ON messages(role)",
    "CREATE INDEX idx_messages_created_at ON messages(created_at DESC)",
    "CREATE TABLE tool_calls (\n  id TEXT PRIMARY KEY,\n  agent_id TEXT NOT NULL,\n  name TEXT NOT NULL,\n  input TEXT NOT NULL,\n  state TEXT NOT NULL,\n  approval TEXT NOT NULL,\n  result TEXT,\n  error TEXT,\n  is_error INTEGER DEFAULT 0,\n  started_at INTEGER,\n  completed_at INTEGER,\n  duration_ms INTEGER,\n  created_at INTEGER NOT NULL,\n  updated_at INTEGER NOT NULL,\n  audit_trail TEXT NOT NULL,\n  FOREIGN KEY (agent_id) REFERENCES agents(agent_id) ON DELETE CASCADE\n)",
    "CREATE INDEX idx_tool_calls_agent_id ON tool_calls(agent_id)",
    "CREATE INDEX idx_tool_calls_name ON tool_calls(name)",
    "CREATE INDEX idx_tool_calls_state ON tool_calls(state)",
    "CREATE INDEX idx_tool_calls_created_at ON tool_calls(created_at DESC)",
    "CREATE TABLE snapshots (\n  agent_id TEXT NOT NULL,\n  snapshot_id TEXT NOT NULL,\n  messages TEXT NOT NULL,\n  last_sfp_index INTEGER NOT NULL,\n  last_bookmark TEXT NOT NULL,\n  created_at TEXT NOT NULL,\n  metadata TEXT,\n  PRIMARY KEY (agent_id, snapshot_id),\n  FOREIGN KEY (agent_id) REFERENCES agents(agent_id) ON DELETE CASCADE\n)",
    "CREATE INDEX idx_snapshots_agent_id ON snapshots(agent_id)",
    "CREATE INDEX idx_snapshots_created_at ON snapshots(created_at DESC)",
];
