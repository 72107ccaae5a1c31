//! Search terms: frequent and rare words of the corpus.

pub const CHINESE: &[&str] = &[
    "我们", "问题", "文件", "测试", "错误", "查询", "索引", "线程", "分支", "迁移", "回滚", "快照", "备份", "集群",
    "发票", "厨房", "港口", "山脉", "群岛", "法学",
];

pub const ENGLISH: &[&str] = &[
    "file",
    "error",
    "database",
    "index",
    "memory",
    "thread",
    "branch",
    "commit",
    "schema",
    "rollback",
    "snapshot",
    "cluster",
    "invoice",
    "kitchen",
    "harbour",
    "violin",
    "photosynthesis",
    "archipelago",
    "jurisprudence",
    "kaleidoscope",
];
