//! Candidate conditions: the tokens an index must contain for a subject that a query may match.

/// A condition on the tokens of a subject. Whatever a query matches satisfies it; not all that satisfies it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexQuery {
    /// Every subject.
    Every,
    /// Those with this token.
    Token(String),
    /// Those with a token that begins so.
    Prefix(String),
    /// Those that satisfy all of these, at least two.
    All(Vec<IndexQuery>),
    /// Those that satisfy one of these, at least two.
    Any(Vec<IndexQuery>),
    /// Those that satisfy the first and not the second.
    Except(Box<IndexQuery>, Box<IndexQuery>),
}

impl IndexQuery {
    /// Joins conditions that must all hold.
    pub(crate) fn all(conditions: Vec<Self>) -> Self {
        let mut holds = Vec::new();
        let mut not = Vec::new();
        for condition in conditions {
            match condition {
                Self::Every => {}
                Self::All(inner) => holds.extend(inner),
                Self::Except(first, second) => {
                    if *first != Self::Every {
                        holds.push(*first);
                    }
                    not.push(*second);
                }
                other => holds.push(other),
            }
        }
        let mut seen = Vec::with_capacity(holds.len());
        for condition in holds {
            if !seen.contains(&condition) {
                seen.push(condition);
            }
        }
        let all = match seen.len() {
            0 => Self::Every,
            1 => seen.remove(0),
            _ => Self::All(seen),
        };
        match not.is_empty() {
            true => all,
            false => Self::Except(Box::new(all), Box::new(Self::any(not))),
        }
    }

    /// Joins conditions with OR; there is at least one.
    pub(crate) fn any(mut conditions: Vec<Self>) -> Self {
        match conditions.len() {
            _ if conditions.contains(&Self::Every) => Self::Every,
            1 => conditions.remove(0),
            _ => Self::Any(conditions),
        }
    }

    /// Returns whether a subject with these sorted tokens satisfies it.
    pub fn admit(&self, tokens: &[String]) -> bool {
        match self {
            Self::Every => true,
            Self::Token(token) => tokens.binary_search(token).is_ok(),
            Self::Prefix(beginning) => {
                let place = tokens.partition_point(|token| token < beginning);
                tokens.get(place).is_some_and(|token| token.starts_with(beginning))
            }
            Self::All(conditions) => conditions.iter().all(|condition| condition.admit(tokens)),
            Self::Any(conditions) => conditions.iter().any(|condition| condition.admit(tokens)),
            Self::Except(first, second) => first.admit(tokens) && !second.admit(tokens),
        }
    }
}
