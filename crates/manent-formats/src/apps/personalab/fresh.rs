//! Files that the program requires, as it creates them for a new story.

use crate::core::json::{Object, Style};

/// The settings, with their defaults.
pub(crate) fn settings() -> String {
    let text = concat!(
        r#"{"features":{"director_plot_control":{"enabled":true,"rag_fallback_threshold":3}},"#,
        r#""summary":{"order":"summary_first","last_n_turns":5},"#,
        r#""conversation_file":{"load_all":true,"max_tokens":100000}}"#
    );
    Style::PRETTY.format(text, 0)
}

/// State of a plot at its start.
pub(crate) fn plot() -> String {
    let plot = Object::new().with("current_plot_index", &1).with("current_status", "pending");
    plot.with("no_update_count", &0).text()
}
