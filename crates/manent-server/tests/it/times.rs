//! One shape for times: RFC 3339 text in UTC, in every answer and in the description.

use manent::model::Timestamp;
use serde_json::Value;

/// Members that are called like a time and are none: places in a path, and in a query.
const NO_TIMES: [(&str, &str); 3] =
    [("ChangeAppendMessagesValue", "at"), ("ChangeSpliceValue", "at"), ("Problem", "at")];

const MOMENT: &str = "#/components/schemas/Moment";

fn is_time(name: &str) -> bool {
    name == "at" || name == "time" || name == "since" || name == "until" || name.ends_with("_at")
}

/// Refuses an answer with a time of another shape.
pub fn check(operation: &str, answer: &Value) {
    match answer {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Null => {}
                    value if is_time(name) => {
                        let text = value.as_str().unwrap_or_else(|| panic!("{operation}: {name} is {value}"));
                        let is_one = text.ends_with('Z') && text.contains('T') && text.parse::<Timestamp>().is_ok();
                        assert!(is_one, "{operation}: {name} is {text}");
                    }
                    value if name == "by_day" => {
                        for day in value.as_object().into_iter().flatten().map(|(day, _)| day) {
                            let midnight = format!("{day}T00:00:00Z");
                            assert!(midnight.parse::<Timestamp>().is_ok(), "{operation}: the day {day}");
                        }
                    }
                    value => check(operation, value),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| check(operation, item)),
        _ => {}
    }
}

/// Refuses a description in which a time has another shape than the others.
pub fn check_description(description: &Value) {
    let schemas = description["components"]["schemas"].as_object().expect("schemas");
    assert_eq!((&schemas["Moment"]["type"], &schemas["Moment"]["format"]), (&"string".into(), &"date-time".into()));
    let mut times = 0;
    for (owner, schema) in schemas {
        if owner != "Moment" {
            let text = schema.to_string();
            assert!(!text.contains("date-time"), "{owner} has a time of its own: {text}");
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten().filter(|(name, _)| is_time(name)) {
            if NO_TIMES.contains(&(owner.as_str(), name)) {
                continue;
            }
            let variants = member["anyOf"].as_array();
            let is_moment = member["$ref"] == MOMENT
                || variants.is_some_and(|all| {
                    all.len() == 2 && all.iter().all(|one| one["$ref"] == MOMENT || one["type"] == "null")
                });
            assert!(is_moment, "{owner}.{name} is {member}");
            times += 1;
        }
    }
    assert!(times > 40, "found only {times}");
}
