//! The query language: how it is read, and what is said when it cannot be.

use crate::kit::{clock, query};
use manent_text::{Filter, IndexQuery, Node, Query, RESERVED};

fn shown(node: &Node) -> String {
    let list = |nodes: &[Node]| nodes.iter().map(shown).collect::<Vec<_>>().join(" ");
    match node {
        Node::All(nodes) => format!("all({})", list(nodes)),
        Node::Any(nodes) => format!("any({})", list(nodes)),
        Node::Not(inner) => format!("not({})", shown(inner)),
        Node::Term(term) => {
            let words: Vec<_> = term.elements.iter().map(|element| element.text.as_str()).collect();
            format!("{}{}", words.join("+"), if term.prefix { "*" } else { "" })
        }
        Node::Filter(Filter::Role(name)) => format!("role={}{}", name.text, if name.prefix { "*" } else { "" }),
        Node::Filter(filter) => format!("{filter:?}"),
    }
}

#[test]
fn queries_are_read_as_people_mean_them() {
    for (text, tree) in [
        ("a", "a"),
        ("a b", "all(a b)"),
        ("a b OR c d", "all(a any(b c) d)"),
        ("a|b｜c", "any(a b c)"),
        ("a or b", "all(a or b)"),
        ("ORDER", "order"),
        ("(a b) OR c", "any(all(a b) c)"),
        ("（a b）OR c", "any(all(a b) c)"),
        ("-a -\"b c\" -(d e) -role:user", "all(not(a) not(b+c) not(all(d e)) not(role=user))"),
        ("－a", "not(a)"),
        ("a - b", "all(a b)"),
        ("a-b", "a+b"),
        ("\"a b\" “c d” 「e f」 «g h»", "all(a+b c+d e+f g+h)"),
        ("say\"hello world\"", "all(say hello+world)"),
        ("他说“你好”吗", "他+说+你+好+吗"),
        ("pre* 前* \"a b*\"", "all(pre* 前 a+b*)"),
        ("role:\"user\" role:us*", "all(role=user role=us*)"),
        ("http://x foo:bar", "all(http+x foo+bar)"),
        ("f(x) (g(y) z)", "all(f+x all(g+y z))"),
        ("!!! a", "a"),
        ("!!! OR a", "a"),
        ("() a", "a"),
        ("snake_case 悬空引用", "all(snake+case 悬+空+引+用)"),
    ] {
        assert_eq!(shown(query(text).root()), tree, "{text}");
    }
}

#[test]
fn while_typing_the_last_word_is_a_beginning() {
    for (text, tree) in [
        ("a b", "all(a b*)"),
        ("a b ", "all(a b)"),
        ("\"a b", "a+b*"),
        ("\"a b\"", "a+b"),
        ("(a OR b", "any(a b*)"),
        ("a) b", "all(a b*)"),
        ("a OR", "a"),
        ("OR a ", "a"),
        ("a role:", "a"),
        ("a role:us", "all(a role=us*)"),
        ("a has:co", "a"),
        ("悬", "悬"),
    ] {
        let query = Query::typing(text, clock()).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        assert_eq!(shown(query.root()), tree, "{text}");
    }
    assert!(Query::typing("", clock()).is_err());
}

#[test]
fn every_problem_says_what_and_where() {
    let long = "a".repeat(1_001);
    let many: String = (0..65).map(|number| format!("w{number} ")).collect();
    let deep = "(".repeat(17);
    let repeats = "的".repeat(65);
    for (text, problem) in [
        ("", "there is nothing to search for, at character 0"),
        ("  !!!", "there is nothing to search for, at character 2"),
        ("中文 \"a", "this quotation mark is not closed, at character 3"),
        ("a “b", "this quotation mark is not closed, at character 2"),
        ("tag:\"b", "this quotation mark is not closed, at character 4"),
        ("a (b (c)", "this parenthesis is not closed, at character 2"),
        ("a (b))", "this parenthesis was not opened, at character 5"),
        ("OR a", "OR stands between two terms, at character 0"),
        ("a OR", "OR stands between two terms, at character 2"),
        ("a OR OR b", "OR stands between two terms, at character 5"),
        ("(a |) b", "OR stands between two terms, at character 3"),
        ("a role:", "role: needs a value, at character 7"),
        ("role: a", "role: needs a value, at character 5"),
        ("tag:\"\"", "tag: needs a value, at character 4"),
        ("has:cheese", "has: takes tool, media or code, at character 4"),
        ("a in:body", "in: takes title, at character 5"),
        ("kind:x", "kind: takes chat, agent, roleplay, group or channel, at character 5"),
        (
            "before:soon",
            "before: takes a date such as 2026, 2026-11, 2026-11-17, 7d, 24h, 2w, 3mo, 1y, today or yesterday, at character 7",
        ),
        (&long, "a query has at most 1000 characters, at character 1000"),
        (&many, "a query has at most 64 words, phrases and filters, at character 246"),
        (&deep, "parentheses lie at most 8 deep, at character 8"),
        (&repeats, "one word stands in a query at most 64 times, at character 0"),
    ] {
        let found = Query::parse(text, clock()).err().map(|problem| problem.to_string());
        assert_eq!(found.as_deref(), Some(problem), "{text}");
    }
}

fn asked(candidates: &IndexQuery) -> String {
    let list = |all: &[IndexQuery]| all.iter().map(asked).collect::<Vec<_>>().join(" ");
    match candidates {
        IndexQuery::Every => "every".to_owned(),
        IndexQuery::Token(token) => token.replace(RESERVED, "@"),
        IndexQuery::Prefix(token) => format!("{token}*").replace(RESERVED, "@"),
        IndexQuery::All(all) => format!("all({})", list(all)),
        IndexQuery::Any(all) => format!("any({})", list(all)),
        IndexQuery::Except(first, second) => format!("except({} {})", asked(first), asked(second)),
    }
}

#[test]
fn the_index_is_asked_for_tokens() {
    for (text, candidates, exact) in [
        ("word", "word", true),
        ("wo*", "wo*", true),
        ("悬", "悬*", true),
        ("悬空", "悬空", true),
        ("悬空引", "all(悬空 空引)", false),
        ("a b", "all(a b)", true),
        ("\"a b\"", "all(a b)", false),
        ("a OR b", "any(a b)", true),
        ("a -b", "except(a b)", true),
        ("a -\"b c\"", "a", false),
        ("-a", "except(every a)", true),
        ("camelCase", "any(all(camel case) camelcase)", false),
        ("gpt4*", "any(all(gpt 4*) gpt4*)", false),
        ("a role:User model:x*", "all(a @role:user @model:x*)", true),
        ("a tag:x before:today", "a", true),
        ("a (b OR tag:x)", "a", false),
        ("-(a tag:x) b", "b", false),
        ("a in:title", "a", false),
        ("重跑gen后", "all(重跑 gen 后*)", false),
    ] {
        let query = query(text);
        assert_eq!((asked(&query.candidates()).as_str(), query.index_is_exact()), (candidates, exact), "{text}");
    }
    let long = "x".repeat(64);
    assert_eq!((asked(&query(&format!("{long}y")).candidates()), query(&long).index_is_exact()), (long.clone(), false));
}
