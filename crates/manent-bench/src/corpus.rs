//! Generator of realistic chat messages, deterministic on every machine.

use serde::Serialize;
use serde_json::{Value, json};

/// The seed of every run, so that two runs write the same bytes.
pub const SEED: u64 = 638;

/// A generator of conversations; it holds no messages itself.
#[derive(Debug, Clone)]
pub struct Corpus {
    seed: u64,
    /// How many conversations there are.
    pub conversations: u64,
    /// How many messages each of them has.
    pub messages: u64,
}

/// One message of a conversation; its JSON is what every subject stores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    /// The conversation it belongs to, from 0.
    #[serde(skip)]
    pub conversation: u64,
    /// Its place in the conversation, from 0.
    #[serde(skip)]
    pub sequence: u64,
    /// The author.
    pub role: Role,
    /// What is said.
    pub content: String,
    /// The tools that the assistant asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// A tool that the assistant asks for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
    /// The id by which a result would refer to it.
    pub id: String,
    /// The tool's name.
    pub name: &'static str,
    /// What the tool is given.
    pub arguments: Value,
}

impl Corpus {
    /// Describes `conversations` of `messages` each.
    pub fn new(seed: u64, conversations: u64, messages: u64) -> Corpus {
        Corpus { seed, conversations, messages }
    }

    /// Generates one conversation, message by message.
    ///
    /// A conversation depends only on the seed and its number, so any of them can be had without those before it.
    pub fn conversation(&self, conversation: u64) -> impl Iterator<Item = Message> + use<> {
        // Neighbouring seeds give related streams; an odd multiplier spreads them.
        let seed = self.seed.wrapping_add(conversation.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut random = fastrand::Rng::with_seed(seed);
        let language = if random.f32() < 0.4 { Language::Chinese } else { Language::English };
        (0..self.messages).map(move |sequence| message(&mut random, language, conversation, sequence))
    }

    /// Generates every message of every conversation, one conversation after another.
    pub fn all(&self) -> impl Iterator<Item = Message> {
        (0..self.conversations).flat_map(|conversation| self.conversation(conversation))
    }
}

impl Message {
    /// Returns the message as JSON text.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings and numbers always become JSON")
    }
}

#[derive(Clone, Copy)]
enum Language {
    English,
    Chinese,
}

fn message(random: &mut fastrand::Rng, language: Language, conversation: u64, sequence: u64) -> Message {
    let role = if sequence.is_multiple_of(2) { Role::User } else { Role::Assistant };
    // Lengths are skewed as in real conversations: mostly short, sometimes very long.
    let skew = random.f64().powi(3);
    let (shortest, longest) = match role {
        Role::User => (60.0, 1_100.0),
        Role::Assistant => (240.0, 3_300.0),
    };
    let calls_tool = role == Role::Assistant && random.f32() < 0.3;
    let content_bytes = (shortest + skew * (longest - shortest)) * if calls_tool { 0.3 } else { 1.0 };
    let content = prose(random, language, content_bytes as usize);
    let tool_calls = if calls_tool { vec![tool_call(random, language)] } else { Vec::new() };
    Message { conversation, sequence, role, content, tool_calls }
}

fn tool_call(random: &mut fastrand::Rng, language: Language) -> ToolCall {
    let path = format!("src/{}/{}.rs", pick(random, ENGLISH), pick(random, ENGLISH));
    let (name, arguments) = match random.u8(0..4) {
        0 => ("read_file", json!({ "path": path, "first_line": random.u16(1..900), "lines_max": 200 })),
        1 => ("search", json!({ "query": prose(random, language, 40), "limit": 20, "include": ["src", "docs"] })),
        2 => {
            let (before, after) = (prose(random, language, 260), prose(random, language, 320));
            ("edit_file", json!({ "path": path, "before": before, "after": after }))
        }
        _ => {
            ("run", json!({ "command": format!("grep -n \"{}\" {path}", pick(random, ENGLISH)), "timeout_ms": 30_000 }))
        }
    };
    ToolCall { id: format!("call_{:016x}", random.u64(..)), name, arguments }
}

/// Writes sentences until they fill about `bytes_min` bytes.
///
/// Chinese messages contain some English words, as is usual in texts about software.
fn prose(random: &mut fastrand::Rng, language: Language, bytes_min: usize) -> String {
    let mut text = String::with_capacity(bytes_min + 16);
    let mut words_until_stop = 0;
    while text.len() < bytes_min {
        if words_until_stop == 0 {
            words_until_stop = random.u8(5..18);
            if !text.is_empty() {
                text.push_str(match (language, random.u8(0..6)) {
                    (_, 0) => "\n\n",
                    (Language::English, _) => ". ",
                    (Language::Chinese, _) => "。",
                });
            }
        } else if matches!(language, Language::English) && !text.is_empty() {
            text.push(' ');
        }
        words_until_stop -= 1;
        match language {
            Language::English => text.push_str(pick(random, ENGLISH)),
            Language::Chinese if random.u8(0..12) == 0 => {
                text.push(' ');
                text.push_str(pick(random, ENGLISH));
                text.push(' ');
            }
            Language::Chinese => text.push_str(pick(random, CHINESE)),
        }
    }
    text
}

/// Picks a word, the earlier ones in the list more often, as in any language.
fn pick(random: &mut fastrand::Rng, words: &[&'static str]) -> &'static str {
    words[(random.f64().powi(2) * words.len() as f64) as usize]
}

#[rustfmt::skip]
const ENGLISH: &[&str] = &[
    "the", "to", "a", "of", "and", "is", "in", "it", "that", "for", "this", "you", "with", "on", "be", "not", "we",
    "as", "can", "if", "are", "file", "test", "error", "when", "code", "function", "should", "value", "return", "use",
    "message", "from", "line", "only", "each", "so", "read", "write", "then", "database", "query", "index", "because",
    "first", "server", "request", "before", "after", "one", "table", "thread", "memory", "cache", "which", "default",
    "change", "config", "result", "module", "build", "release", "version", "branch", "commit", "parser", "token",
    "stream", "context", "window", "latency", "budget", "schema", "migration", "rollback", "transaction", "lock",
    "queue", "worker", "timeout", "retry", "checksum", "snapshot", "backup", "replica", "cluster", "gateway", "payload",
    "header", "cookie", "session", "account", "invoice", "calendar", "kitchen", "harbour", "mountain", "violin",
    "photosynthesis", "archipelago", "thermodynamics", "jurisprudence", "kaleidoscope",
];

#[rustfmt::skip]
const CHINESE: &[&str] = &[
    "的", "是", "我", "了", "在", "不", "你", "这个", "有", "我们", "可以", "一个", "就", "需要", "如果", "没有", "问题",
    "文件", "代码", "数据", "函数", "测试", "使用", "返回", "错误", "消息", "然后", "因为", "所以", "运行", "读取", "写入",
    "数据库", "查询", "索引", "缓存", "服务器", "请求", "线程", "内存", "配置", "结果", "模块", "版本", "分支", "提交",
    "解析", "上下文", "窗口", "延迟", "预算", "迁移", "回滚", "事务", "队列", "超时", "重试", "快照", "备份", "副本",
    "集群", "网关", "会话", "账户", "发票", "日历", "厨房", "港口", "山脉", "小提琴", "光合作用", "群岛", "热力学", "法学",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_average_638_bytes() {
        let corpus = Corpus::new(SEED, 200, 200);
        let bytes: usize = corpus.all().map(|message| message.to_json().len()).sum();
        let mean = bytes / (200 * 200);
        assert!((630..=646).contains(&mean), "the mean is {mean} bytes");
    }

    #[test]
    fn a_conversation_is_the_same_every_time_and_unlike_the_next() {
        let corpus = Corpus::new(SEED, 10, 20);
        let conversation = |number| corpus.conversation(number).collect::<Vec<_>>();
        assert_eq!(conversation(7), conversation(7));
        assert_ne!(conversation(7)[0].content, conversation(8)[0].content);
    }

    #[test]
    fn both_languages_roles_and_tool_calls_occur() {
        let messages: Vec<Message> = Corpus::new(SEED, 20, 20).all().collect();
        let share = |matches: fn(&Message) -> bool| {
            messages.iter().filter(|message| matches(message)).count() as f64 / messages.len() as f64
        };
        assert_eq!(share(|message| message.role == Role::User), 0.5);
        assert!((0.1..0.2).contains(&share(|message| !message.tool_calls.is_empty())));
        assert!((0.2..0.6).contains(&share(|message| message.content.contains('的'))));
    }
}
