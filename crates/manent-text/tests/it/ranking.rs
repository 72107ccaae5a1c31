//! Which of two answers is the better one, and the snippets of random texts.

use crate::kit::{conversation, query};
use manent_model::{Body, Content, Part, Time, Timestamp};
use manent_text::{Field, FieldText, SearchDocument, relevance};

const DAY: i64 = 86_400_000_000;

fn score(asked: &str, field: Field, text: &str, days_ago: i64) -> u64 {
    let now = Timestamp(1_000 * DAY);
    let content = Content::new("user", Time::exact(now.0 - days_ago * DAY), Body::of(&[Part::text(text)]));
    let passages = [FieldText { field, text: text.into() }];
    let conversation = conversation();
    let at = content.time.at;
    let subject =
        SearchDocument { fields: &passages, message: Some(&content), conversation: &conversation, project: None, at };
    relevance(&query(asked), &subject, now)
}

#[test]
fn the_better_answer_has_the_higher_score() {
    let long = format!("needle {}", "hay ".repeat(2_000));
    let longer = format!("needle {}", "hay ".repeat(200_000));
    let text = |asked, text| score(asked, Field::Text, text, 10);
    for (better, worse, why) in [
        (text("needle", "needle needle"), text("needle", "needle hay"), "more often"),
        (text("needle", "needle"), text("needle", &long), "in a short text"),
        (score("needle", Field::Title, "needle", 10), text("needle", "needle needle needle needle"), "in the title"),
        (score("needle", Field::Text, "needle", 1), text("needle", "needle"), "newer"),
        (text("needle", "needle needle"), score("needle", Field::Text, "needle", 0), "more often, if a little older"),
        (text("a b", "a b"), text("a OR b", "a a a a a a a a a a a a a a a"), "more of the terms"),
        (text("\"a b c\"", "a b c"), text("a", "a b c"), "a phrase"),
    ] {
        assert!(better > worse, "{why}: {better} {worse}");
    }
    assert!(text("needle", &long).abs_diff(text("needle", &longer)) < 150);
    // The order must be the same on every machine and in every release: these are part of the contract.
    assert_eq!([text("needle", "needle in the hay"), text("\"悬空引用\" hay", "悬空引用 hay")], [831, 1_662]);
    assert_eq!([text("-needle", "hay"), score("needle", Field::Title, "needle", 10)], [167, 1_555]);
}
