//! The contract: every behaviour of a store is one function here, run on every engine. No test names an engine.

mod conversations;
mod messages;
mod streams;
mod branches;
mod annotations;
mod runs;
mod library;
mod projects;
mod statistics;
mod journal;
mod limits;
mod purge;
mod erase;
mod person;
mod undo;
mod random;
mod backups;
mod differences;
mod search;
mod hits;
mod granted;

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

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let Some(opened) = crate::kit::postgres() else { return };
                    super::$module::$name(&*opened.store).await;
                }
            )*
        }
    };
}

contract! {
    conversations::a_conversation_comes_back_as_it_was_made,
    conversations::the_same_external_id_again_is_a_retry,
    conversations::a_taken_id_refuses_another_conversation,
    conversations::an_edit_changes_what_it_names_and_nothing_else,
    conversations::an_edit_of_something_unknown_is_refused,
    conversations::a_conversation_goes_through_its_life,
    conversations::a_list_shows_pinned_first_then_the_latest_in_pages,
    conversations::every_filter_of_a_list_narrows_it,
    conversations::a_list_can_show_the_youngest_first,
    conversations::a_list_is_counted_whatever_its_page,
    conversations::list_by_title_that_rarely_matches_ends_its_page_early,
    conversations::ids_are_found_by_the_beginning_of_their_text,
    messages::appended_messages_are_read_back_in_order,
    messages::a_message_comes_back_as_it_was_given,
    messages::the_same_messages_again_are_a_retry,
    messages::a_retry_of_a_longer_transaction_answers_the_same,
    messages::other_content_under_the_same_id_is_a_conflict,
    messages::an_append_is_refused_where_it_cannot_stand,
    messages::a_refused_change_leaves_no_trace_of_its_actor,
    messages::what_is_expected_must_be_true,
    messages::a_key_answers_the_same_request_the_same_way,
    messages::a_refused_request_does_not_use_its_key_up,
    messages::a_key_is_known_since_it_was_first_used,
    messages::pages_go_both_ways_from_any_message,
    messages::a_page_is_cut_by_bytes_and_goes_on_behind_the_cut,
    messages::a_page_of_something_unknown_is_refused,
    messages::a_thread_is_what_answers_and_what_is_answered,
    messages::related_page_is_cut_by_bytes_and_goes_on_behind_the_cut,
    streams::a_stream_grows_in_chunks_and_ends_once,
    streams::a_stream_finished_without_a_body_keeps_its_chunks,
    streams::the_words_of_a_running_stream_are_read,
    streams::an_idle_stream_is_listed_until_it_is_renewed_or_ends,
    streams::a_stream_larger_than_a_commit_is_refused,
    streams::a_stream_that_fails_is_not_counted,
    streams::page_with_open_streams_is_cut_by_their_bytes,
    streams::counts_are_right_however_much_happened_behind_a_stream,
    streams::undo_behind_a_stream_counts_its_ending,
    streams::an_undone_stream_can_still_end,
    branches::a_fork_leaves_the_old_path_as_it_was,
    branches::the_head_can_be_put_on_any_message_of_any_branch,
    branches::a_rewind_then_an_append_opens_a_branch,
    branches::a_cleared_path_begins_anew,
    branches::an_append_to_a_branch_follows_or_stays,
    branches::alternatives_stand_side_by_side,
    branches::what_is_said_after_an_edit_is_no_alternative_of_the_kept_tail,
    branches::a_splice_keeps_the_tail_wherever_it_cuts,
    branches::a_splice_of_a_splice_of_a_fork_holds,
    branches::a_splice_off_the_path_is_refused,
    branches::a_splice_again_with_the_same_messages_is_a_retry,
    branches::a_conversation_can_fork_into_another_one,
    branches::a_branch_from_elsewhere_is_opened_as_it_is_described,
    branches::a_branch_without_a_parent_may_take_pieces,
    branches::a_path_holds_a_message_once,
    branches::a_branch_is_read_only_from_its_own_messages,
    branches::a_branch_reaches_its_own_messages,
    annotations::a_note_is_added_and_taken_back,
    annotations::a_bookmark_is_set_moved_and_forgotten,
    annotations::state_follows_the_branch,
    annotations::state_follows_a_fork_into_another_conversation,
    annotations::a_fold_covers_messages_of_its_path,
    annotations::a_call_is_recorded_as_it_was,
    annotations::nothing_is_attached_to_what_was_taken_back,
    annotations::what_is_attached_stays_with_what_was_taken_back,
    annotations::annotations_page_is_cut_by_bytes_and_goes_on_behind_the_cut,
    annotations::annotations_page_holds_as_many_records_as_asked_for,
    runs::a_tool_call_moves_only_as_it_may,
    runs::a_tool_call_keeps_its_record_and_its_trail,
    runs::events_are_read_after_a_cursor_by_channel,
    runs::an_input_is_taken_once,
    runs::a_lease_fences_off_the_owner_before,
    runs::a_lease_that_was_given_back_is_free_at_any_time,
    runs::a_commit_that_expects_a_lease_happens_only_while_it_is_held,
    runs::a_trail_that_another_program_kept_is_taken_as_it_was,
    runs::one_import_has_its_turn_at_a_time,
    library::a_document_has_versions,
    library::a_document_changes_only_at_the_version_that_was_read,
    library::a_memory_is_kept_replaced_and_forgotten,
    library::scratch_is_overwritten_and_leaves_no_trace_in_the_journal,
    library::a_blob_is_there_when_its_last_piece_fits,
    library::a_blob_can_be_staged_again_in_fewer_pieces,
    library::sources_origins_and_quarantine_come_back_as_they_were,
    library::the_origin_of_a_message_comes_back_byte_for_byte,
    library::the_origin_of_a_stream_outlives_its_first_body,
    library::what_is_sorted_by_its_name_is_sorted_by_every_character,
    library::null_is_something_and_comes_back,
    projects::a_project_is_made_edited_and_removed,
    projects::a_project_changes_only_at_the_version_that_was_read,
    projects::conversations_stay_when_their_project_goes,
    projects::statistics_count_what_is_shown,
    statistics::statistics_from_sums_equal_counting_every_message,
    statistics::statistics_follow_open_streams_into_forks,
    journal::every_commit_has_its_rows_in_order,
    journal::the_journal_of_one_conversation_is_read_in_pages,
    journal::a_long_journal_is_looked_at_in_bounded_pages,
    journal::a_page_from_before_the_start_begins_at_the_start,
    journal::a_tail_ends_when_the_store_is_closed,
    journal::a_tail_hears_of_every_commit,
    journal::many_writers_get_one_order,
    journal::journal_entry_of_messages_names_their_ids,
    journal::journal_entry_of_an_undo_names_the_messages_of_the_commit,
    journal::journal_entry_of_many_messages_is_cut,
    limits::a_transaction_without_changes_is_refused,
    limits::a_transaction_holds_two_thousand_changes,
    limits::a_transaction_holds_four_mebibytes,
    limits::what_is_read_with_every_list_stays_short,
    limits::a_name_has_a_kibibyte_on_every_engine,
    limits::a_transaction_happens_whole_or_not_at_all,
    purge::only_what_lies_in_the_trash_is_purged,
    purge::a_large_conversation_is_purged_in_steps,
    purge::a_purge_takes_everything_that_was_attached,
    purge::a_purge_takes_what_was_taken_out_of_a_message,
    purge::what_forked_from_a_purged_conversation_stays_whole,
    purge::a_fork_of_a_fork_outlives_the_one_between,
    purge::nothing_before_a_purge_can_be_undone,
    purge::a_tag_is_found_again_after_its_last_conversation_went,
    purge::an_undo_leaves_a_memory_without_its_purged_conversation,
    purge::what_was_taken_from_a_purged_conversation_is_still_counted,
    purge::a_stream_ends_where_a_purged_conversation_forked_behind_it,
    erase::an_erased_message_leaves_only_its_place,
    erase::nothing_before_an_erasure_can_be_undone,
    erase::an_erased_conversation_is_gone_with_what_came_from_it,
    erase::everything_an_author_wrote_is_erased,
    erase::an_erased_stream_is_over,
    erase::what_was_taken_back_can_be_erased,
    erase::words_that_look_erased_do_not_stand_in_the_way,
    erase::an_erased_author_is_no_member_and_was_none,
    erase::an_author_without_messages_can_be_erased,
    erase::an_erasure_reaches_what_forks_made_of_a_message,
    erase::undo_goes_on_beside_what_was_erased,
    erase::an_erased_conversation_takes_along_what_only_its_messages_are_named_by,
    person::what_a_person_set_asked_and_explained_goes,
    person::what_a_person_remembered_goes,
    person::what_a_person_made_and_took_back_goes_as_a_whole,
    person::the_next_erasure_resumes_an_interrupted_one,
    person::ten_thousand_messages_of_a_person_go,
    person::a_long_journal_is_walked_in_steps,
    undo::each_change_is_undone_and_redone_whole,
    undo::all_changes_are_undone_one_after_the_other,
    undo::a_new_change_after_an_undo_clears_redo,
    undo::undo_looks_only_at_its_scope,
    undo::only_the_last_change_of_all_it_touched_is_undone,
    undo::a_step_takes_the_last_change_of_its_scope_whichever_that_is,
    undo::what_leaves_no_old_value_is_stepped_over,
    undo::what_takes_back_or_destroys_stands_alone,
    backups::a_backup_is_a_store_of_its_own,
    random::random_changes_show_what_a_naive_model_shows,
    differences::any_text_comes_back_and_is_found,
    differences::texts_are_ordered_by_their_bytes,
    differences::json_is_kept_as_it_was_written,
    differences::a_time_keeps_its_microseconds_wherever_it_lies,
    differences::nothing_asked_for_is_nothing_found,
    differences::a_thousand_things_are_asked_for_at_once,
    differences::a_refusal_does_not_depend_on_what_the_engine_notices_first,
    differences::each_of_a_crowd_gets_its_own_answer,
    search::words_of_any_script_are_found,
    search::a_phrase_is_found_wherever_it_stands,
    search::a_query_says_what_people_mean,
    search::hits_say_where_they_stand,
    search::other_branches_and_the_trash_are_searched_when_asked,
    search::a_message_that_a_fork_took_is_found_there,
    search::hits_come_in_pages_in_both_orders,
    search::hits_are_grouped_by_conversation,
    search::relevance_puts_the_best_first,
    search::what_changes_is_found_as_it_is_now,
    search::a_stream_is_found_while_it_runs_and_when_it_ends,
    search::tools_thoughts_and_summaries_are_found_as_such,
    search::what_is_destroyed_is_not_found,
    search::an_index_is_made_anew_on_request,
    search::many_messages_that_come_at_once_are_all_found,
    search::what_is_not_to_be_there_can_be_all_that_is_asked,
    search::a_message_of_very_many_words_has_all_that_is_asked,
    search::a_tool_that_is_asked_for_twice_is_indexed_as_once,
    search::what_no_reader_sees_is_not_shown_beside_a_hit,
    search::every_word_of_a_random_message_finds_it,
    search::every_chinese_word_of_two_characters_is_found_everywhere,
    hits::ranked_pages_go_on_as_they_began_whatever_the_clock_says,
    hits::conversations_are_counted_when_hits_are_put_together,
    hits::all_hits_are_counted_from_every_page,
    hits::counting_has_time_of_its_own,
    hits::a_query_as_deep_as_may_be_is_answered,
}

/// Runs each function about what a key reaches on every engine; these need the store to limit it.
macro_rules! granted {
    ($($module:ident :: $name:ident),* $(,)?) => {
        mod granted_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::granted::$module::$name(&crate::kit::sqlite().store).await;
                }
            )*
        }

        mod granted_postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let Some(opened) = crate::kit::postgres() else { return };
                    super::granted::$module::$name(&opened.store).await;
                }
            )*
        }
    };
}

granted! {
    reads::a_conversation_outside_answers_as_one_that_never_was,
    reads::a_conversation_is_named_from_outside_only_within,
    reads::messages_outside_are_left_out_or_unknown,
    reads::a_thread_ends_at_the_access_scope,
    reads::a_path_is_whole_for_those_who_reach_it,
    reads::a_page_of_messages_is_full_of_those_within,
    lists::a_list_is_the_part_of_the_whole_list_that_is_within,
    lists::a_list_by_member_follows_who_takes_part,
    lists::ids_are_told_only_within,
    lists::open_tool_calls_are_those_within,
    lists::the_journal_holds_rows_of_conversations_within,
    lists::statistics_count_what_is_within,
    searches::a_search_tells_nothing_of_others,
    searches::a_search_finds_what_a_path_within_holds,
    searches::a_member_of_many_conversations_finds_all_of_them,
    searches::a_search_of_a_limited_key_takes_as_long_as_another,
    library::memories_are_those_of_conversations_and_projects_within,
    library::documents_and_projects_are_those_that_are_listed,
    library::scratch_is_ones_own,
    library::what_concerns_everything_takes_a_key_for_everything,
    scopes::every_change_takes_its_scope,
    scopes::an_append_that_forks_is_an_append,
    scopes::changes_are_recorded_as_those_of_the_key,
    changes::what_a_user_names_outside_answers_as_what_never_was,
    changes::what_a_project_key_names_outside_answers_as_what_never_was,
    changes::the_first_name_is_told_whichever_is_there,
    changes::what_a_transaction_makes_may_be_named_behind_it,
    makes::what_a_user_makes_is_that_users,
    makes::what_a_project_key_makes_lies_in_its_project,
    makes::a_name_that_is_taken_outside_is_a_conflict_and_tells_no_more,
    makes::documents_and_projects_are_changed_only_where_they_are_listed,
    makes::document_name_used_outside_answers_as_a_free_one,
    makes::a_memory_lies_where_its_key_reaches,
    makes::two_keys_never_answer_each_others_requests,
    tricks::a_retry_does_not_open_the_door,
    tricks::state_that_is_set_after_a_fork_does_not_cross_it,
    tricks::what_a_key_says_is_said_by_its_user,
    tricks::making_what_is_there_does_not_make_it_ones_own,
    tricks::naming_a_branch_does_not_make_it_ones_own,
    tricks::an_id_that_is_taken_makes_nothing_ones_own,
    tricks::a_commit_is_taken_back_only_by_those_who_reach_all_of_it,
    tricks::one_takes_back_and_does_again_what_is_ones_own,
    blobs::a_blob_is_seen_by_those_who_reach_what_shows_it,
    blobs::a_hash_alone_shows_nothing,
    blobs::an_uploader_of_a_blob_has_all_of_its_bytes,
    blobs::who_brought_a_blob_is_forgotten_with_it,
    life::a_membership_counts_from_the_moment_it_is_given_to_that_it_is_taken,
    life::what_was_taken_back_is_reached_again_when_it_comes_again,
    life::an_erased_person_reaches_nothing_and_leaves_no_name,
    life::destroyed_content_is_unreachable,
    life::a_large_conversation_of_ones_own_is_destroyed_in_one_go,
    random::every_list_of_a_grant_is_the_filter_of_the_whole_list,
}
