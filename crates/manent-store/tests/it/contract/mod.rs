//! The contract: every behaviour of a store is one function here, run on every engine. No test names an engine.

mod messages;

/// Runs each function of the contract on every engine.
macro_rules! contract {
    ($($module:ident :: $name:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$module::$name(&*crate::kit::sqlite().store).await;
                }
            )*
        }
    };
}

contract! {
    messages::appended_messages_are_read_back_in_order,
    messages::undo_takes_an_append_back_and_redo_brings_it_again,
}
