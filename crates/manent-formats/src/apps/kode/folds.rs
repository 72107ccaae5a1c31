//! Folds of an agent, and windows without a summary that refers to them.

use crate::apps::kode::agent::Put;
use crate::apps::kode::frame::{FoldFrame, Mark, WindowFrame};
use crate::apps::kode::message;
use crate::apps::kode::message_trie::MessageTrie;
use crate::apps::kode::window::{Folded, Window, odd, shown};
use crate::core::item::{BookmarkItem, FoldItem};
use manent_model::{FoldKind, Json, Time, TimeSource};
use std::collections::HashMap;

/// Windows that no summary leads to become branches with a name.
pub(crate) fn unreached(trie: &mut MessageTrie, windows: &[Window], folds: &[Folded]) -> Vec<BookmarkItem> {
    let mut bookmarks = Vec::new();
    for (place, window) in windows.iter().enumerate() {
        if folds.iter().any(|fold| fold.window == place) {
            continue;
        }
        let path = trie.put(None, &window.messages);
        let records: Vec<&str> = path.iter().map(|index| trie.text(*index)).collect();
        let file = WindowFrame { odd: odd(&window.messages, &records, window.frame.style, 2), ..frame_of(window) };
        let compression_text = window.compression.as_ref().map(|kept| kept.text.clone());
        let mark = Mark::Window { file, compression_text };
        let head = path.last().copied();
        let metadata = Some(Json::of(&mark));
        bookmarks.push(BookmarkItem { name: window.id.clone(), head, metadata, record: "window" });
    }
    bookmarks
}

fn frame_of(window: &Window) -> WindowFrame {
    WindowFrame {
        file: window.file.clone(),
        frame: window.frame.clone(),
        odd: Vec::new(),
        events: Vec::new(),
        compression: window.compression.as_ref().map(|kept| kept.around.clone()),
    }
}

/// Adds the events of a window, which are known when the logs have been read.
pub(crate) fn complete(bookmark: &mut BookmarkItem, put: &Put<'_>, known: &HashMap<String, (usize, u32)>) {
    let mark = bookmark.metadata.as_ref().and_then(|metadata| metadata.read::<Mark>().ok());
    if let Some(Mark::Window { mut file, compression_text }) = mark
        && let Some(window) = put.windows.iter().find(|window| window.file == file.file)
    {
        file.events = shown(window, known, &put.logs);
        bookmark.metadata = Some(Json::of(&Mark::Window { file, compression_text }));
    }
}

/// Makes the fold of a window.
pub(crate) fn fold_item(fold: &Folded, put: &Put<'_>, known: &HashMap<String, (usize, u32)>) -> FoldItem {
    let window = &put.windows[fold.window];
    let inner = fold.inner.and_then(|inner| put.folds.iter().find(|fold| fold.window == inner));
    let start = inner.map_or(0, |inner| inner.last + 1);
    let mut records: Vec<&str> = inner.iter().map(|inner| inner.summary.text.as_str()).collect();
    records.extend((start..=fold.after).map(|place| put.trie.text(put.path[place as usize])));
    let frame = FoldFrame {
        window: window.id.clone(),
        file: WindowFrame {
            odd: odd(&window.messages, &records, window.frame.style, 2),
            events: shown(window, known, &put.logs),
            ..frame_of(window)
        },
        summary: fold.summary.text.clone(),
        last: fold.last,
        kept: fold.kept,
        inner: fold.inner.map(|inner| put.windows[inner].id.clone()),
    };
    let summary = message::read(&fold.summary.text, put.time).map(|content| content.body.words()).unwrap_or_default();
    FoldItem {
        external: Some(window.id.clone()),
        after: fold.after,
        kind: FoldKind::Summary,
        covers: Some((0, fold.last)),
        summary: Some(summary),
        made_by: window.compression.as_ref().and_then(|kept| Json::parse(&kept.text).ok()),
        active: true,
        at: window.at.map(|at| Time { at, source: TimeSource::Exact }),
        raw: Json::of(&frame).text().to_owned(),
        record: "window",
    }
}
