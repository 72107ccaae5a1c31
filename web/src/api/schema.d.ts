// Written by scripts/schema.mjs from ../docs/openapi.json; change nothing here.

/** A position in the journal. */
export type After = number | End;

/** A page of the attachments of a conversation. Pages hold the kinds one after another, in this order. */
export type Annotations = { bookmarks: (Bookmark)[]; calls: (Call)[]; folds: (Fold)[]; inputs: (Input)[]; lease: Lease | null; next?: AnnotationsCursor | null; notes: (Note)[]; states: (State)[]; streams: ([MessageId, string])[]; tool_calls: (ToolCallTrail)[] };

/** Where a page ends; hand it back to get the next one. */
export type AnnotationsCursor = string;

/** Messages to append. */
export type Append = { after?: MessageId | null; messages: (MessageInput)[] };

/** The appended messages. */
export type Appended = { ids: (MessageId)[] };

/** The actor of an audit log entry. */
export type AuditActor = "operator" | "token" | "stranger" | "server" | AuditActorKey;

/** A key. */
export type AuditActorKey = { key: KeyId };

/** A line of the audit log. */
export type AuditEntry = { action: string; actor: AuditActor; at: Moment; digest: string; no: number; payload?: Json | null; tenant?: TenantId | null };

/** A page of the audit log. */
export type AuditPage = { entries: (AuditEntry)[]; next?: number | null };

/** A problem in the audit log. */
export type AuditProblem = AuditProblemAltered | AuditProblemLost;

/** A line was altered. */
export type AuditProblemAltered = { altered: AuditProblemAlteredValue };

export type AuditProblemAlteredValue = { no: number };

/** A line is missing. */
export type AuditProblemLost = { lost: AuditProblemLostValue };

export type AuditProblemLostValue = { no: number };

/** The result of a check of the audit log. */
export type AuditReport = { digest: string; erased: number; lines: number; problems: (AuditProblem)[] };

/** An author: a stable external id, and a display name that may change. */
export type Author = { id: string; name?: string };

/** A backup that was restored, checked and compared. */
export type BackupReport = { conversations: number; messages: number; path: string; position: number; size_bytes: number };

/** A named position in a conversation: a snapshot, a second head. */
export type Bookmark = { at: Moment; head: MessageId | null; metadata?: Json | null; name: string };

/** A bounded count. */
export type BoundedCount = { more: boolean; n: number };

/** The fork point of an imported branch. */
export type BranchBase = { fork?: MessageId | null; parent: BranchId };

export type BranchId = string & { readonly kind?: 'BranchId' };

/** A branch of a conversation. */
export type BranchInfo = { fork: MessageId | null; id: BranchId; is_head: boolean; own_in_ranges: number; own_messages: number; parent: BranchId | null; ranges: (MessageRange)[]; reason: BranchReason };

/** Why a branch was opened.  - `start`: The conversation began. - `fork`: A fork: the conversation continues from an earlier message. - `retry`: The model was asked again. - `edit`: A message was edited, inserted or removed. - `withdrawal`: A message could not be sent and was withdrawn. - `clear`: The path was cleared. - `import`: It came from another program. */
export type BranchReason = "start" | "fork" | "retry" | "edit" | "withdrawal" | "clear" | "import";

/** One request to a model. */
export type Call = { after: MessageId | null; at: Moment; cost_micros?: number | null; id: CallId; manifest?: Json | null; model?: string | null; outcome: CallOutcome; sent: (MessageRange)[]; tokens_in?: number | null; tokens_out?: number | null };

/** A model call to record. */
export type CallDraft = { after?: MessageId | null; cost_micros?: number | null; manifest?: Json | null; model?: string | null; outcome: CallOutcome; sent?: (MessageRange)[]; tokens_in?: number | null; tokens_out?: number | null };

export type CallId = string & { readonly kind?: 'CallId' };

/** One request to a model. */
export type CallInput = { after?: MessageId | null; at: Moment; cost_micros?: number | null; id: CallId; manifest?: Json | null; model?: string | null; outcome: CallOutcome; sent: (MessageRange)[]; tokens_in?: number | null; tokens_out?: number | null };

/** How one request to a model ended.  - `answered`: Answered. - `failed`: The provider or the way to it failed. - `stopped`: Stopped by a user. */
export type CallOutcome = "answered" | "failed" | "stopped";

/** One change. All kinds are journalled unless they say otherwise.  In JSON the kind is the only member and contains the rest: nested JSON stays exactly as it was written. The pieces of a blob are bytes and are not read from JSON. */
export type Change = ChangeCreateConversation | ChangeEditConversation | ChangeAppendMessages | ChangeAppendChunk | ChangeFinishMessage | ChangeOpenBranch | ChangeSplice | ChangeMoveHead | ChangeAddNote | ChangeRemoveNote | ChangeSetBookmark | ChangeRemoveBookmark | ChangeSetState | ChangeAddFold | ChangeSetFoldActive | ChangePutToolCall | ChangePutToolTrail | ChangeMoveToolCall | ChangeAppendEvents | ChangePutInput | ChangeTakeInputs | ChangeTakeLease | ChangeRenewLease | ChangeReleaseLease | ChangePutDocument | ChangeRecordCall | ChangePutSource | ChangePutOrigin | ChangeQuarantine | ChangePutMemory | ChangeRemoveMemory | ChangePutScratch | ChangeRemoveScratch | ChangeCreateProject | ChangeEditProject | ChangeRemoveProject | ChangeUndo | ChangeStep | ChangePurge | ChangeErase;

/** Adds a fold. */
export type ChangeAddFold = { add_fold: ChangeAddFoldValue };

export type ChangeAddFoldValue = { conversation: ConversationId; fold: NewFold };

/** Adds a note to a message. */
export type ChangeAddNote = { add_note: ChangeAddNoteValue };

export type ChangeAddNoteValue = { id: NoteId; kind: string; message: MessageId; value: Json };

/** Adds a delta to a streaming message and renews its lease; an empty one only renews. Not undoable, the message is. */
export type ChangeAppendChunk = { append_chunk: ChangeAppendChunkValue };

export type ChangeAppendChunkValue = { delta: string; message: MessageId };

/** Logs events. */
export type ChangeAppendEvents = { append_events: ChangeAppendEventsValue };

export type ChangeAppendEventsValue = { conversation: ConversationId; events: (NewEvent)[] };

/** Adds messages. `origins` belong to some of them by id. */
export type ChangeAppendMessages = { append_messages: ChangeAppendMessagesValue };

export type ChangeAppendMessagesValue = { at: MessageAt; conversation: ConversationId; head: HeadMove; messages: (NewMessage)[]; origins?: (MessageOrigin)[]; why: BranchReason };

/** Creates a conversation with its first branch. The same external id again is a retry. */
export type ChangeCreateConversation = { create_conversation: ChangeCreateConversationValue };

export type ChangeCreateConversationValue = { branch: BranchId; draft: ConversationDraft; id: ConversationId; importing?: boolean };

/** Creates a project. */
export type ChangeCreateProject = { create_project: ChangeCreateProjectValue };

export type ChangeCreateProjectValue = { project: Project };

/** Changes the metadata of a conversation. */
export type ChangeEditConversation = { edit_conversation: ChangeEditConversationValue };

export type ChangeEditConversationValue = { id: ConversationId; patch: ConversationPatch };

/** Changes a project. */
export type ChangeEditProject = { edit_project: ChangeEditProjectValue };

export type ChangeEditProjectValue = { id: ProjectId; patch: ProjectPatch };

/** Erases content everywhere by one bounded step, with a receipt; not undoable. Send it until it is finished. */
export type ChangeErase = { erase: ChangeEraseValue };

export type ChangeEraseValue = { target: EraseTarget };

/** Ends a streaming message, once. */
export type ChangeFinishMessage = { finish_message: ChangeFinishMessageValue };

export type ChangeFinishMessageValue = { finish: Finish; message: MessageId };

/** Moves the head: rewind, switch, clear. */
export type ChangeMoveHead = { move_head: ChangeMoveHeadValue };

export type ChangeMoveHeadValue = { conversation: ConversationId; to: HeadTarget };

/** Moves a tool call along an allowed transition. */
export type ChangeMoveToolCall = { move_tool_call: ChangeMoveToolCallValue };

export type ChangeMoveToolCallValue = { message: MessageId; note: string; part: number; record?: Json | null; to: ToolState };

/** Opens an imported branch: base, own messages, pieces by their first and last message. */
export type ChangeOpenBranch = { open_branch: ChangeOpenBranchValue };

export type ChangeOpenBranchValue = { base?: BranchBase | null; branch: BranchId; conversation: ConversationId; origins?: (MessageOrigin)[]; own?: (NewMessage)[]; pieces?: (MessageRange)[]; why: BranchReason };

/** Purges a conversation in the trash by one bounded step; not undoable. Returns whether it is finished. */
export type ChangePurge = { purge: ChangePurgeValue };

export type ChangePurgeValue = { conversation: ConversationId };

/** Writes the next version of a document; no body deletes it. */
export type ChangePutDocument = { put_document: ChangePutDocumentValue };

export type ChangePutDocumentValue = { body?: Json | null; id: string; kind: string; project?: ProjectId | null };

/** Queues an input for a run. */
export type ChangePutInput = { put_input: ChangePutInputValue };

export type ChangePutInputValue = { body: Json; conversation: ConversationId; id: InputId };

/** Stores a memory; the same id again replaces it. */
export type ChangePutMemory = { put_memory: ChangePutMemoryValue };

export type ChangePutMemoryValue = { memory: Memory };

/** Records where an object came from. */
export type ChangePutOrigin = { put_origin: ChangePutOriginValue };

export type ChangePutOriginValue = { origin: Origin };

/** Overwrites a draft, read mark or pointer; not journalled. */
export type ChangePutScratch = { put_scratch: ChangePutScratchValue };

export type ChangePutScratchValue = { scratch: Scratch };

/** Records an imported file. */
export type ChangePutSource = { put_source: ChangePutSourceValue };

export type ChangePutSourceValue = { source: Source };

/** Records a tool call; the first step of its trail is the state it begins in. */
export type ChangePutToolCall = { put_tool_call: ChangePutToolCallValue };

export type ChangePutToolCallValue = { call: ToolCall; note: string };

/** Records a tool call with the trail that another program kept; its transitions are taken as they were. With `instead_of`, it replaces the call that is recorded for that part of that message, which may be the same part; a part that has a record otherwise is a conflict. */
export type ChangePutToolTrail = { put_tool_trail: ChangePutToolTrailValue };

export type ChangePutToolTrailValue = { call: ToolCall; instead_of?: ToolPart | null; steps: (ToolStep)[] };

/** Keeps bytes that could not be parsed. */
export type ChangeQuarantine = { quarantine: ChangeQuarantineValue };

export type ChangeQuarantineValue = { quarantined: Quarantined };

/** Records a request to a model. */
export type ChangeRecordCall = { record_call: ChangeRecordCallValue };

export type ChangeRecordCallValue = { call: CallInput; conversation: ConversationId };

/** Releases a lease; not undoable. */
export type ChangeReleaseLease = { release_lease: ChangeReleaseLeaseValue };

export type ChangeReleaseLeaseValue = { conversation: ConversationId; token: number };

/** Removes a bookmark. */
export type ChangeRemoveBookmark = { remove_bookmark: ChangeRemoveBookmarkValue };

export type ChangeRemoveBookmarkValue = { conversation: ConversationId; name: string };

/** Removes a memory. */
export type ChangeRemoveMemory = { remove_memory: ChangeRemoveMemoryValue };

export type ChangeRemoveMemoryValue = { id: MemoryId };

/** Removes a note. */
export type ChangeRemoveNote = { remove_note: ChangeRemoveNoteValue };

export type ChangeRemoveNoteValue = { id: NoteId };

/** Removes a project from the list; its conversations stay. */
export type ChangeRemoveProject = { remove_project: ChangeRemoveProjectValue };

export type ChangeRemoveProjectValue = { id: ProjectId };

/** Removes a scratch value; not journalled. */
export type ChangeRemoveScratch = { remove_scratch: ChangeRemoveScratchValue };

export type ChangeRemoveScratchValue = { actor: string; id: string; kind: string };

/** Extends a lease that the token still holds; not undoable. */
export type ChangeRenewLease = { renew_lease: ChangeRenewLeaseValue };

export type ChangeRenewLeaseValue = { conversation: ConversationId; token: number; until: Moment };

/** The result of one change. */
export type ChangeResult = "applied" | ChangeResultConversation | ChangeResultMessages | ChangeResultEvents | ChangeResultLease | ChangeResultVersion | ChangeResultPurged | ChangeResultErased;

/** The conversation, new or existing. */
export type ChangeResultConversation = { conversation: ConversationId };

/** The counts of what was erased. */
export type ChangeResultErased = { erased: Receipt };

/** The cursor of the last event that was logged. */
export type ChangeResultEvents = { events: number };

/** The fencing token. */
export type ChangeResultLease = { lease: number };

/** The last message that was added. */
export type ChangeResultMessages = { messages: MessageId | null };

/** Whether nothing is left to purge. */
export type ChangeResultPurged = { purged: boolean };

/** The new version of a document. */
export type ChangeResultVersion = { version: number };

/** Sets a bookmark; the same name again moves it. */
export type ChangeSetBookmark = { set_bookmark: ChangeSetBookmarkValue };

export type ChangeSetBookmarkValue = { conversation: ConversationId; head?: MessageId | null; metadata?: Json | null; name: string };

/** Activates or deactivates a fold. */
export type ChangeSetFoldActive = { set_fold_active: ChangeSetFoldActiveValue };

export type ChangeSetFoldActiveValue = { active: boolean; fold: FoldId };

/** Sets a state after a message; `None` for the start; no value unsets it. */
export type ChangeSetState = { set_state: ChangeSetStateValue };

export type ChangeSetStateValue = { after?: MessageId | null; conversation: ConversationId; name: string; value?: Json | null };

/** Splices the shown path: inserts or removes messages in the middle; the tail is kept by reference. */
export type ChangeSplice = { splice: ChangeSpliceValue };

export type ChangeSpliceValue = { at: SplicePosition; branch: BranchId; conversation: ConversationId; messages: (NewMessage)[]; origins?: (MessageOrigin)[] };

/** Undoes or redoes the last change of a scope at the time when the transaction is applied. */
export type ChangeStep = { step: ChangeStepValue };

export type ChangeStepValue = { scope: UndoScope; step: UndoDirection };

/** Takes inputs out of the queue, in the commit that uses them. */
export type ChangeTakeInputs = { take_inputs: ChangeTakeInputsValue };

export type ChangeTakeInputsValue = { conversation: ConversationId; ids: (InputId)[] };

/** Acquires the lease of a run if it is free or has expired; not undoable. */
export type ChangeTakeLease = { take_lease: ChangeTakeLeaseValue };

export type ChangeTakeLeaseValue = { conversation: ConversationId; owner: string; until: Moment };

/** Undoes the commit that begins at this position; undoing an undo is a redo. */
export type ChangeUndo = { undo: ChangeUndoValue };

export type ChangeUndoValue = { position: number };

/** A chunk of a streaming message. */
export type Chunk = { delta: string };

/** A transaction: changes that are committed together. */
export type Commit = { changes: (Change)[] };

/** The result of a transaction. */
export type Committed = { at: Moment; first: number; is_replay?: boolean; position: number; results: (ChangeResult)[] };

/** Confirmation of a destructive request. */
export type Confirmed = { name: string };

/** The content of a message: everything except its address. */
export type Content = { author?: Author | null; body: Parts; metadata?: Json | null; model?: string | null; reply_to?: MessageId | null; role: string; seen?: Visibility; status?: MessageStatus; time: Moment; time_source?: TimeSource | null; tokens?: number | null; turn?: number | null; usage?: Json | null };

/** A message beside a hit. */
export type ContextMessage = { message: MessageId; role: string; text: string };

/** A conversation as people see it in a list. */
export type Conversation = { active_at: Moment; continued_from?: ConversationId | null; created_at: Moment; creator?: Author | null; external_id?: string | null; forked_from?: ConversationId | null; head?: MessageId | null; id: ConversationId; kind: ConversationKind; members?: (Author)[]; messages: number; metadata?: Json | null; pinned?: boolean; project?: ProjectId | null; status: ConversationStatus; tags?: (string)[]; title: string; tokens: number; trashed_at?: Moment | null; version: number; words: number };

/** Properties of a new conversation. */
export type ConversationDraft = { continued_from?: ConversationId | null; creator?: Author | null; external_id?: string | null; forked_from?: ConversationId | null; kind?: ConversationKind; members?: (Author)[]; metadata?: Json | null; project?: ProjectId | null; tags?: (string)[]; title?: string };

export type ConversationId = string & { readonly kind?: 'ConversationId' };

/** Purpose of a conversation.  - `chat`: One person and a model; some call it private. - `agent`: A run of an agent with tools. - `roleplay`: A story with characters. - `group`: Several people. - `channel`: One speaks, many read. */
export type ConversationKind = "chat" | "agent" | "roleplay" | "group" | "channel";

/** Changes to a conversation; fields that are `None` stay unchanged. */
export type ConversationPatch = { add_tags?: (string)[]; members?: (Author)[] | null; metadata?: Json | null; pinned?: boolean | null; project?: ProjectId | null; remove_tags?: (string)[]; status?: ConversationStatus | null; times?: ConversationTimes | null; title?: string | null };

/** Where a conversation is in its life.  - `active`: In use. - `archived`: Put away; listed only when asked for. - `trashed`: In the trash; can be restored or purged. - `importing`: Its import has not finished yet. */
export type ConversationStatus = "active" | "archived" | "trashed" | "importing";

/** Times of an imported conversation. */
export type ConversationTimes = { active_at: Moment; created_at: Moment; trashed_at?: Moment | null };

/** A page of conversations. */
export type Conversations = { conversations: (Conversation)[]; next?: string | null };

/** Whether all hits are counted.  - `bounded`: Those that are shown, and whether there are more. - `exact`: All of them, up to a thousand. */
export type CountMode = "bounded" | "exact";

/** Outcome counts of one record type. */
export type Counts = { mapped: number; read: number; reported: number; unmapped: number };

/** Coverage of the index. */
export type Coverage = { complete: boolean; last: number; position: number; waiting: number };

/** A created API key. */
export type CreatedKey = { created_at: Moment; expires_at?: Moment | null; id: KeyId; name: string; projects?: (ProjectId)[] | null; rate?: number | null; revoked_at?: Moment | null; scopes: KeyScopes; secret: string; tenant: TenantId; used_at?: Moment | null; user?: string | null };

/** The state of a store. */
export type DoctorReport = { engine: string; files: ([string, number])[]; largest: ([ConversationId, string, number])[]; position: number; schema: number; settings: ([string, string])[]; tables: ([string, number])[]; tables_complete: boolean; warnings: (string)[] };

/** A small versioned JSON value by kind and id: a character, a background, a template, settings. */
export type Document = { at: Moment; body: Json | null; id: string; kind: string; project?: ProjectId | null; version: number };

/** An unsent draft. */
export type Draft = { text: string };

/** An edit of a message. */
export type Edit = { message: MessageId; tail?: FollowUpsInput; with: MessageInput };

export type End = "end";

/** The target of an erasure; exactly one of these. */
export type ErasePlan = ErasePlanMessage | ErasePlanConversation | ErasePlanAuthor;

/** Everything written by the author with this external id. */
export type ErasePlanAuthor = { author: string };

/** A conversation with all of its content. */
export type ErasePlanConversation = { conversation: ConversationId };

/** One message, on every path that reaches it. */
export type ErasePlanMessage = { message: MessageId };

/** The target of an erasure. */
export type EraseTarget = EraseTargetMessage | EraseTargetConversation | EraseTargetPerson;

/** A conversation with everything in it. */
export type EraseTargetConversation = { conversation: ConversationId };

/** One message, on every path that reaches it. */
export type EraseTargetMessage = { message: MessageId };

/** Everything that this author wrote, by external id. */
export type EraseTargetPerson = { person: string };

/** The result of an erasure, and where erased content remains. */
export type ErasedContent = { annotations: number; at: Moment; backups_removed: number; blobs: number; conversations: number; finished: boolean; journal: number; kept: RemainingContent; messages: number; scratch: number };

/** Receipt of an erasure. */
export type Erasure = { annotations: number; at: Moment; audit: number; backups: number; bytes: number; conversations: number; files: number; keys: number; messages: number; rows: number; tenant: string; users: number };

/** An entry of a run's log. */
export type Event = { at: Moment; body: Json; channel: string; cursor: number };

/** The field that a text belongs to.  - `title`: The name of a conversation. - `tags`: A tag of a conversation. - `text`: Words for the reader. - `reasoning`: Reasoning of the model. - `tool_call`: The name and the arguments of a tool call. - `tool_result`: Result of a tool call. - `media`: The name of a file. - `source`: The title of a source. - `summary`: A summary of earlier messages. - `error`: An error message. */
export type Field = "title" | "tags" | "text" | "reasoning" | "tool_call" | "tool_result" | "media" | "source" | "summary" | "error";

/** The result of an import. Every record that was read is counted: as mapped, unmapped, or reported. */
export type FileImportReport = { conversations: (ImportedConversation)[]; left_out?: (LeftOut)[]; left_out_more?: number; library: number; records: { [name: string]: Counts }; repaired?: (Repaired)[]; roots: (ImportedRoot)[]; skipped?: (Skipped)[]; unmapped?: (UnmappedField)[] };

/** How a streaming message ends. */
export type Finish = { body?: Parts | null; status: MessageStatus; tokens?: number | null; usage?: Json | null };

/** Completion of a streaming message. */
export type FinishStream = { parts?: Parts | null; status: MessageStatus; text?: string | null; tokens?: number | null; usage?: Json | null };

/** A compaction: the folded messages of a path, and what the model sees in their place. */
export type Fold = { active: boolean; after: MessageId; at: Moment; covers: (MessageRange)[]; id: FoldId; kind: FoldKind; made_by?: Json | null; parent?: FoldId | null; summary?: string | null };

export type FoldId = string & { readonly kind?: 'FoldId' };

/** A fold to add. */
export type FoldInput = { after?: MessageId | null; covers: (MessageRange)[]; kind: FoldKind; made_by?: Json | null; parent?: FoldId | null; summary?: string | null };

/** Effect of a fold on the messages it covers.  - `summary`: The model sees a summary in their place. - `tool_clear`: Tool results are left out. - `media_clear`: Media are left out. - `drop`: They are not sent to the model. */
export type FoldKind = "summary" | "tool_clear" | "media_clear" | "drop";

/** The created fold. */
export type Folded = { fold: FoldId };

/** Treatment of the messages after an edited one.  - `cut`: The path ends at the edited message. - `keep`: They follow the edited message. */
export type FollowUpsInput = "cut" | "keep";

/** A fork into a new conversation. */
export type Fork = { after: MessageId; conversation?: ConversationDraft };

/** A supported file format of another program. */
export type FormatView = { about: string; generations: (string)[]; name: string };

/** Grouping of hits.  - `flat`: No grouping. - `conversations`: One hit per conversation, the first one. */
export type Grouping = "flat" | "conversations";

/** Whether the head moves when messages are appended.  - `follow`: It moves to the last appended message. - `stay`: It stays where it is. */
export type HeadMove = "follow" | "stay";

/** Target of a head move. */
export type HeadTarget = HeadTargetMessage | HeadTargetEnd | HeadTargetOn | HeadTargetEmpty;

/** To a new, empty branch with this id. */
export type HeadTargetEmpty = { empty: BranchId };

/** To the end of this branch. */
export type HeadTargetEnd = { end: BranchId };

/** To this message: on the shown path if the message is on it, else on its own branch. */
export type HeadTargetMessage = { message: MessageId };

/** To this message of the path of this branch; `None` for its start. */
export type HeadTargetOn = { on: HeadTargetOnValue };

export type HeadTargetOnValue = { branch: BranchId; message?: MessageId | null };

/** The created fold that hides the messages. */
export type Hidden = { fold: FoldId };

/** A search hit. */
export type Hit = { after: (ContextMessage)[]; author: Author | null; before: (ContextMessage)[]; branch: BranchId | null; conversation: ConversationId; field: Field; fold: FoldId | null; in_conversation?: BoundedCount | null; kind: ConversationKind; message: MessageId | null; on_path: boolean; position: number | null; role: string | null; score?: number | null; snippet: Snippet; status: ConversationStatus; time: Moment; time_source?: TimeSource | null; title: string };

/** A line that could not be imported. */
export type ImportProblem = { line: number; why: string };

/** The outcome for one conversation. */
export type ImportedConversation = { added: number; annotations: number; external: string; id?: ConversationId | null; is_new: boolean; repaired?: (Repaired)[]; skipped?: (Skipped)[]; title: string; unchanged: number; updated: number };

/** A file or folder that was read. */
export type ImportedRoot = { format: string; generation: string; path: string };

/** Index progress, for callers that wait for it. */
export type IndexStatus = { idle: boolean; is_failing: boolean; position: number; waiting: number };

/** Something that waits for a run to take it in. */
export type Input = { at: Moment; body: Json; id: InputId; taken: boolean };

export type InputId = string & { readonly kind?: 'InputId' };

/** Messages to insert into a path. */
export type Insert = { after?: MessageId | null; messages: (MessageInput)[] };

/** A journal row in the change feed. */
export type JournalEntry = { actor?: Author | null; at: Moment; conversation: ConversationId | null; count: number; first: number; kind: JournalKind; messages?: (MessageId)[]; messages_cut?: boolean; position: number; undoes?: number | null };

/** The kind of change that a journal row records. The numbers are stored on disk: a number keeps its meaning for ever.  - `conversation_created`: A conversation was made. - `conversation_edited`: The metadata of a conversation was changed. - `messages_appended`: Messages were added. - `message_finished`: A streaming message ended. - `branch_opened`: A branch was opened. - `head_moved`: The head went elsewhere. - `note_added`: Something was said about a message. - `note_removed`: A note was withdrawn. - `bookmark_set`: A place was named. - `bookmark_removed`: A named place was forgotten. - `state_set`: A named value was set or unset. - `fold_added`: Messages were folded. - `fold_switched`: A fold was put in or out of force. - `tool_call_put`: A tool call was recorded. - `tool_call_moved`: A tool call went to another state. - `events_appended`: Events were logged. - `input_put`: An input was queued. - `inputs_taken`: Inputs were taken. - `lease_changed`: A lease was taken, extended or given back. - `document_put`: A version of a document was written. - `call_recorded`: A request to a model was recorded. - `blob_put`: A blob is complete. - `source_put`: An imported file was recorded. - `origin_put`: Where an object came from was recorded. - `quarantined`: Bytes that could not be parsed were kept. - `memory_put`: A text was remembered. - `memory_removed`: A memory was forgotten. - `project_created`: A project was made. - `project_edited`: A project was changed. - `project_removed`: A project was removed. - `undone`: A commit was undone. - `redone`: A commit was redone. - `purged`: A conversation was destroyed. - `erased`: Content was destroyed. - `chunk_appended`: A streaming message grew. */
export type JournalKind = "conversation_created" | "conversation_edited" | "messages_appended" | "message_finished" | "branch_opened" | "head_moved" | "note_added" | "note_removed" | "bookmark_set" | "bookmark_removed" | "state_set" | "fold_added" | "fold_switched" | "tool_call_put" | "tool_call_moved" | "events_appended" | "input_put" | "inputs_taken" | "lease_changed" | "document_put" | "call_recorded" | "blob_put" | "source_put" | "origin_put" | "quarantined" | "memory_put" | "memory_removed" | "project_created" | "project_edited" | "project_removed" | "undone" | "redone" | "purged" | "erased" | "chunk_appended";

/** A page of the journal, oldest first. */
export type JournalPage = { entries: (JournalEntry)[]; more: boolean; scanned_to: number };

/** Any JSON, kept as it was written. */
export type Json = unknown;

/** The result of an import. */
export type JsonlImportReport = { conversations: number; lines: number; messages: number; problems: (ImportProblem)[]; unchanged: number };

/** An API key without its secret. */
export type Key = { created_at: Moment; expires_at?: Moment | null; id: KeyId; name: string; projects?: (ProjectId)[] | null; rate?: number | null; revoked_at?: Moment | null; scopes: KeyScopes; tenant: TenantId; used_at?: Moment | null; user?: string | null };

/** Properties of a new API key. */
export type KeyDraft = { expires_at?: Moment | null; name: string; projects?: (ProjectId)[] | null; rate?: number | null; scopes: KeyScopes; user?: string | null };

export type KeyId = string & { readonly kind?: 'KeyId' };

/** A permission.  - `read`: Read. - `append`: Append; existing content cannot be changed. - `manage`: Make changes that can be undone. - `admin`: Delete for good, and administer the tenant. */
export type KeyScope = "read" | "append" | "manage" | "admin";

/** A set of permissions; a list of names in JSON. */
export type KeyScopes = (KeyScope)[];

/** A page of keys. */
export type Keys = { keys: (Key)[] };

/** The lease of a run: owner, expiry and fencing token. */
export type Lease = { owner: string; token: number; until: Moment };

/** A lease renewal. */
export type LeaseRenewal = { token: number; until: Moment };

/** A file that was not read. */
export type LeftOut = { name: string; why: string };

/** A message and the conversation that owns it. */
export type LocatedMessage = { branch: BranchId; conversation: ConversationId; message: Message; on_path: boolean };

/** Messages with their places, as many as [`PAGE_BYTES`] hold; a single message may be larger. */
export type LocatedMessagePage = { messages: (LocatedMessage)[]; more: boolean };

/** The end of the log. */
export type Logged = { cursor: number };

/** Login request. */
export type Login = { token: string };

/** A text to remember, with its origin. */
export type Memory = { collection: string; conversation?: ConversationId | null; external?: string | null; id: MemoryId; message?: MessageId | null; metadata?: Json | null; project?: ProjectId | null; text: string };

/** A memory to store. */
export type MemoryDraft = { collection: string; conversation?: ConversationId | null; external?: string | null; id?: MemoryId | null; message?: MessageId | null; metadata?: Json | null; project?: ProjectId | null; text: string };

export type MemoryId = string & { readonly kind?: 'MemoryId' };

/** A message in JSON: flat, without its address, which the order of the response implies. */
export type Message = { author?: Author | null; erased?: boolean; id: MessageId; metadata?: Json | null; model?: string | null; parts: Parts; position: number; reply_to?: MessageId | null; role: string; seen?: Visibility | null; status: MessageStatus; time: Moment; time_source?: TimeSource | null; tokens?: number | null; turn?: number | null; usage?: Json | null };

/** Where messages are appended. */
export type MessageAt = MessageAtHead | MessageAtAfter | MessageAtInsteadOf | MessageAtBranch;

/** On a new branch, after this message of the path; `None` for the start. */
export type MessageAtAfter = { after: MessageAtAfterValue };

export type MessageAtAfterValue = { branch: BranchId; message?: MessageId | null };

/** At the end of a branch that exists. */
export type MessageAtBranch = { branch: MessageAtBranchValue };

export type MessageAtBranchValue = { branch: BranchId };

/** After the head; `branch` is opened if the head is not at the end of its branch. */
export type MessageAtHead = { head: MessageAtHeadValue };

export type MessageAtHeadValue = { branch: BranchId };

/** On a new branch, in place of this message of the path. */
export type MessageAtInsteadOf = { instead_of: MessageAtInsteadOfValue };

export type MessageAtInsteadOfValue = { branch: BranchId; message: MessageId };

export type MessageId = string & { readonly kind?: 'MessageId' };

/** A message to add. Give `text`, or `parts` for other content. */
export type MessageInput = { author?: Author | null; id?: MessageId | null; metadata?: Json | null; model?: string | null; parts?: Parts | null; reply_to?: MessageId | null; role: string; seen?: Visibility | null; status?: MessageStatus | null; text?: string | null; time?: Moment | null; tokens?: number | null; turn?: number | null; usage?: Json | null };

/** The origin of an imported message. */
export type MessageOrigin = { external?: string | null; message: MessageId; ordinal: number; raw?: string | null; source: SourceId };

/** Messages of a path, always in reading order. */
export type MessagePage = { messages: (Message)[]; more: boolean };

/** The messages that a fold covers or a call sent, as the first and the last of a stretch of the path. */
export type MessageRange = { first: MessageId; last: MessageId };

/** The life of a message.  - `complete`: Whole. - `streaming`: Still being written; its text grows in chunks. - `incomplete`: Ended early; partial content is kept. - `failed`: Could not be sent; not counted. */
export type MessageStatus = "complete" | "streaming" | "incomplete" | "failed";

/** A time as RFC 3339 text in UTC, with a fraction of up to six digits where it has one. */
export type Moment = string;

/** Kinds of objects that can be resolved.  - `conversation`: A conversation. - `message`: A message. - `project`: A project. */
export type Named = "conversation" | "message" | "project";

/** A bookmark: a named position. */
export type NewBookmark = { head?: MessageId | null; metadata?: Json | null };

/** A new branch. */
export type NewBranch = { after: MessageId; message: MessageInput };

/** A new version of a document. */
export type NewDocument = { body: Json; project?: ProjectId | null };

/** An event to log. */
export type NewEvent = { at: Moment; body: Json; channel: string };

/** Events to append to the log. */
export type NewEvents = { channel: string; events: (Json)[] };

/** A fold to add. */
export type NewFold = { after: MessageId; covers: (MessageRange)[]; id: FoldId; kind: FoldKind; made_by?: Json | null; parent?: FoldId | null; summary?: string | null };

/** An input to queue for a run. */
export type NewInput = { body: Json };

/** A lease request. */
export type NewLease = { owner: string; until: Moment };

/** A message to store. */
export type NewMessage = { content: Content; id: MessageId };

/** A new title. */
export type NewName = { title: string };

/** A note on a message. */
export type NewNote = { kind: string; value: Json };

/** A project to create. */
export type NewProject = { instructions?: string; name: string };

/** A named state value. */
export type NewState = { after?: MessageId | null; value?: Json | null };

/** A tenant to create. */
export type NewTenant = { name: string };

/** Properties of a user. */
export type NewUser = { name?: string };

/** A note on a message: a rating, a pin, a label. */
export type Note = { actor?: Author | null; at: Moment; id: NoteId; kind: string; message: MessageId; value: Json };

export type NoteId = string & { readonly kind?: 'NoteId' };

/** The created note. */
export type Noted = { id: NoteId };

/** An empty response object. */
export type Nothing = { [name: string]: unknown };

/** How an erasure treats existing managed backups.  - `keep`: Keep them; they still contain the erased content. - `replace`: Replace them with a backup of the remaining content. */
export type OldBackups = "keep" | "replace";

/** A tool call with its conversation. */
export type OpenCall = { conversation: ConversationId; tool_call: ToolCallTrail };

/** The origin of an imported object in its own program. */
export type Origin = { external?: string | null; object: OriginObject; ordinal: number; raw?: string | null; source: SourceId };

/** The object that an origin belongs to. */
export type OriginObject = OriginObjectConversation | OriginObjectMessage | OriginObjectProject | OriginObjectFold | OriginObjectMemory | OriginObjectDocument;

/** A conversation. */
export type OriginObjectConversation = { id: ConversationId; kind: "conversation" };

/** A document, as `kind/id`. */
export type OriginObjectDocument = { id: string; kind: "document" };

/** A fold. */
export type OriginObjectFold = { id: FoldId; kind: "fold" };

/** A memory. */
export type OriginObjectMemory = { id: MemoryId; kind: "memory" };

/** A message. */
export type OriginObjectMessage = { id: MessageId; kind: "message" };

/** A project. */
export type OriginObjectProject = { id: ProjectId; kind: "project" };

/** One piece of a message. A type that is not known here, and members that a type does not name, are kept as they were written. Known: text, reasoning, summary and error with `text`; tool_call with `id`, `name`, `input`; tool_result with `call`, `content`; media with `mime` and perhaps `blob`; source with `title`. A JSON value that is not an object is kept too. */
export type Part = { text?: unknown; type?: string; [name: string]: unknown };

export type Parts = (Part)[];

/** An error response. */
export type Problem = { at?: number | null; code: string; detail: string; status: number; title: string; type: string };

/** A project: settings shared by several conversations. */
export type Project = { facts?: { [name: string]: string }; id: ProjectId; instructions?: string; kind: string; metadata?: Json | null; name: string; version: number };

export type ProjectId = string & { readonly kind?: 'ProjectId' };

/** Changes to a project; fields that are `None` stay unchanged. */
export type ProjectPatch = { facts?: { [name: string]: string | null }; instructions?: string | null; metadata?: Json | null; name?: string | null };

/** Unparsable bytes of a source. */
export type Quarantined = { at_byte: number; bytes: string; source: SourceId; why: string };

/** The queued input. */
export type Queued = { id: InputId };

/** The receipt of an erasure: what it removed. */
export type Receipt = { annotations: number; at: Moment; blobs: number; conversations: number; finished: boolean; journal: number; messages: number; scratch: number };

/** The recorded model call. */
export type Recorded = { id: CallId };

/** A regenerated answer. */
export type Regenerate = { answer: MessageId; with: MessageInput };

/** Places where erased content remains. */
export type RemainingContent = { backups: number; names: (string)[] };

/** The stored memory. */
export type Remembered = { id: MemoryId };

/** A repaired inconsistency. */
export type Repaired = { place: string; what: string; why: string };

/** The resolved object. */
export type Resolved = { id: string };

/** Something that is overwritten and not journalled: a draft, a read mark, a "current" pointer. */
export type Scratch = { actor?: string; at: Moment; body: Json; id: string; kind: string };

/** Where a page ends; hand it back to get the next one. */
export type SearchCursor = string;

/** The order of hits.  - `newest`: The newest first, by the time of the message itself. - `relevance`: The best first, among the newest [`RANKED_MAX`]. */
export type SearchOrder = "newest" | "relevance";

/** A page of hits. */
export type SearchPage = { coverage: Coverage; hits: (Hit)[]; micros: number; next: SearchCursor | null; timed_out: boolean; total: BoundedCount };

/** Server version and permissions of the caller. */
export type Session = { projects?: (ProjectId)[] | null; scopes: KeyScopes; tenant: TenantId; token: boolean; user?: string | null; version: string };

/** A started session. */
export type SessionSecret = { secret: string };

/** A record that was not imported. */
export type Skipped = { place: string; record: string; why: string };

/** A piece of a text on one line. */
export type Snippet = { after: boolean; before: boolean; highlights: ([number, number])[]; text: string };

/** An imported file. */
export type Source = { at: Moment; format: string; generation: string; id: SourceId; path: string; sha256: string; style: Json };

export type SourceId = string & { readonly kind?: 'SourceId' };

/** The part of the shown path that a splice removes. */
export type SplicePosition = SplicePositionAfter | SplicePositionReplace;

/** Nothing: the new messages are inserted after this one; `None` for the start. */
export type SplicePositionAfter = { after: MessageId | null };

/** These messages, both ends included. */
export type SplicePositionReplace = { replace: MessageRange };

/** A named value that follows the branch. */
export type State = { after: MessageId | null; at: Moment; name: string; value: Json | null };

/** Statistics of a conversation or of many. */
export type Stats = { by_day: { [name: string]: Tally }; by_model: { [name: string]: Tally }; by_role: { [name: string]: Tally }; conversations: number; total: Tally };

/** The change that was undone or redone. */
export type Stepped = { position: number };

/** A stored blob. */
export type StoredBlob = { sha256: string };

/** Target of a switch; exactly one of these. */
export type SwitchTo = SwitchToMessage | SwitchToBranch;

/** This branch. */
export type SwitchToBranch = { branch: BranchId };

/** The branch that this message belongs to. */
export type SwitchToMessage = { message: MessageId };

/** Inputs that a run has taken from its queue. */
export type Taken = { ids: (InputId)[] };

/** The granted lease. */
export type TakenLease = { token: number };

/** Counts of a group of messages. */
export type Tally = { messages: number; response_micros: number; timed: number; tokens: number; words: number };

/** A tenant: an isolated store on a shared server. */
export type Tenant = { created_at: Moment; id: TenantId; name: string; status: TenantStatus };

export type TenantId = string & { readonly kind?: 'TenantId' };

/** Where a tenant is in its life.  - `making`: Its store is being made. - `active`: In use. - `suspended`: Suspended: its keys are refused, all data is kept. - `erasing`: Everything is being destroyed. - `erased`: Erased: all data was deleted; its receipt lists what was removed. */
export type TenantStatus = "making" | "active" | "suspended" | "erasing" | "erased";

/** A tenant. */
export type TenantView = { created_at: Moment; id: TenantId; name: string; receipt?: Erasure | null; status: TenantStatus };

/** A page of tenants. */
export type TenantsPage = { tenants: (Tenant)[] };

/** How a time is known. Order never depends on it: order is by position.  - `exact`: Recorded when it happened. - `inherited`: Taken from a neighbour or from the conversation. - `file`: Taken from the file that held it. - `unknown`: Unknown; the value is a placeholder. */
export type TimeSource = "exact" | "inherited" | "file" | "unknown";

/** A position given by its message. */
export type ToMessage = { message: MessageId };

/** The record of a tool call; keyed by the part of the message that asked, since providers' ids repeat. */
export type ToolCall = { call_id: string; message: MessageId; name: string; part: number; record: Json; state: ToolState };

/** A tool call to record. */
export type ToolCallInput = { call: ToolCall; note?: string };

/** A tool call with its audit trail. */
export type ToolCallTrail = { call: ToolCall; steps: (ToolStep)[] };

/** A state transition of a tool call. */
export type ToolMove = { message: MessageId; note?: string; part: number; record?: Json | null; to: ToolState };

/** The address of a tool call part in a message. */
export type ToolPart = { message: MessageId; part: number };

/** Where a tool call is.  - `PENDING`: Asked for by the model. - `APPROVAL_REQUIRED`: A person or a policy must decide. - `APPROVED`: Allowed, not begun. - `EXECUTING`: Running. - `COMPLETED`: Done. - `FAILED`: Went wrong. - `DENIED`: Not allowed. - `SEALED`: Interrupted and closed, so that the conversation stays valid. */
export type ToolState = "PENDING" | "APPROVAL_REQUIRED" | "APPROVED" | "EXECUTING" | "COMPLETED" | "FAILED" | "DENIED" | "SEALED";

/** One step of the audit trail. */
export type ToolStep = { actor?: Author | null; at: Moment; note?: string; state: ToolState };

/** Reading direction of a page.  - `backward`: Towards the start. - `forward`: Towards the head. */
export type Towards = "backward" | "forward";

/** Undo or redo.  - `undo`: Undo. - `redo`: Redo. */
export type UndoDirection = "undo" | "redo";

/** The scope of an undo or redo. */
export type UndoParameters = { workspace?: boolean };

/** The scope of an undo or redo. */
export type UndoScope = "everything" | "workspace" | UndoScopeConversation;

/** The last change of this conversation. */
export type UndoScopeConversation = { conversation: ConversationId };

/** The effect of an undo or redo. */
export type UndoStep = { at: Moment; kinds: (JournalKind)[]; position: number };

/** The available undo and redo of a scope. */
export type UndoSteps = { redo: UndoStep | null; undo: UndoStep | null };

/** An unmapped field. */
export type UnmappedField = { count: number; key: string; record: string };

/** A user of a tenant: conversations have creators and members, and keys may act for a user. */
export type User = { created_at: Moment; id: string; name: string };

/** A page of users. */
export type Users = { users: (User)[] };

/** A record that is not as it was written. */
export type VerifyProblem = VerifyProblemAltered | VerifyProblemLost | VerifyProblemDoubled | VerifyProblemChain | VerifyProblemBeside | VerifyProblemIndex | VerifyProblemFile;

/** The content of a message does not match its digest. */
export type VerifyProblemAltered = { conversation: ConversationId | null; message: MessageId | null; position: number; problem: "altered" };

/** A row other than a message does not match its MAC or the journal. */
export type VerifyProblemBeside = { problem: "beside"; what: string };

/** The chain of a conversation does not hold at this journal row. */
export type VerifyProblemChain = { conversation: ConversationId | null; position: number; problem: "chain" };

/** A message row that the journal does not contain, or contains twice. */
export type VerifyProblemDoubled = { conversation: ConversationId | null; message: MessageId | null; problem: "doubled" };

/** The file itself is damaged. */
export type VerifyProblemFile = { problem: "file"; what: string };

/** The index does not match the store; `reindex` rebuilds it. */
export type VerifyProblemIndex = { problem: "index"; what: string };

/** A message that the journal knows is gone. */
export type VerifyProblemLost = { conversation: ConversationId | null; position: number; problem: "lost" };

/** The report of `verify`. */
export type VerifyReport = { blobs: number; conversations: number; erased: number; indexed: number; journal: number; messages: number; problems: (VerifyProblem)[] };

/** The stored version. */
export type Versioned = { version: number };

/** Initial visibility of a message. It can be hidden later by a fold or a splice. */
export type Visibility = { by_model: boolean; by_reader: boolean };

/** What every route takes and answers. */
export interface Routes {
  /** Returns the audit log, newest first: of the tenant, or with the server token of all tenants. */
  'GET /audit': {
    path: undefined;
    query: { before?: number | null; limit?: number | null; tenant?: TenantId | null };
    body: undefined;
    answer: AuditPage;
  };
  /** Checks the chain of the audit log, and reports altered or lost entries; an extra entry at the end counts as lost. */
  'POST /audit/verify': {
    path: undefined;
    query: undefined;
    body: Nothing;
    answer: AuditReport;
  };
  /** Creates a backup, then restores and checks it. Backups on demand are counted separately from scheduled ones; when the maximum number exists, the request is refused. */
  'POST /backups': {
    path: undefined;
    query: undefined;
    body: Nothing;
    answer: BackupReport;
  };
  /** Stores a blob under its SHA-256. */
  'POST /blobs': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: StoredBlob;
  };
  /** Returns the bytes of a blob as a download. */
  'GET /blobs/{sha256}': {
    path: { sha256: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Applies a list of changes atomically. For clients that generate their own ids. */
  'POST /commits': {
    path: undefined;
    query: undefined;
    body: Commit;
    answer: Committed;
  };
  /** Lists conversations: pinned first, then most recently active. */
  'GET /conversations': {
    path: undefined;
    query: { after?: string | null; creator?: string | null; external_id?: string | null; kind?: ConversationKind | null; limit?: number | null; metadata_key?: string | null; metadata_value?: string | null; project?: ProjectId | null; since?: Moment | null; status?: string | null; tag?: string | null; title?: string | null; until?: Moment | null };
    body: undefined;
    answer: Conversations;
  };
  /** Creates a conversation, or returns the one with the same external id. A key without `read` gets only the id and the fields it sent. */
  'POST /conversations': {
    path: undefined;
    query: undefined;
    body: ConversationDraft;
    answer: Conversation;
  };
  /** Counts conversations, up to 10,000. */
  'GET /conversations/count': {
    path: undefined;
    query: { after?: string | null; creator?: string | null; external_id?: string | null; kind?: ConversationKind | null; limit?: number | null; metadata_key?: string | null; metadata_value?: string | null; project?: ProjectId | null; since?: Moment | null; status?: string | null; tag?: string | null; title?: string | null; until?: Moment | null };
    body: undefined;
    answer: BoundedCount;
  };
  /** Moves a conversation to the trash. */
  'DELETE /conversations/{conversation}': {
    path: { conversation: ConversationId };
    query: undefined;
    body: undefined;
    answer: Conversation;
  };
  /** Returns a conversation. */
  'GET /conversations/{conversation}': {
    path: { conversation: ConversationId };
    query: undefined;
    body: undefined;
    answer: Conversation;
  };
  /** Changes the properties of a conversation. Omitted fields are kept. */
  'PATCH /conversations/{conversation}': {
    path: { conversation: ConversationId };
    query: undefined;
    body: ConversationPatch;
    answer: Conversation;
  };
  /** Returns a page of the notes, bookmarks, state, folds, calls, inputs and streams of a conversation. Pages are limited in bytes too; `next` is the cursor of the following page. */
  'GET /conversations/{conversation}/annotations': {
    path: { conversation: ConversationId };
    query: { after?: AnnotationsCursor | null; limit?: number | null };
    body: undefined;
    answer: Annotations;
  };
  /** Removes a bookmark. */
  'DELETE /conversations/{conversation}/bookmarks/{name}': {
    path: { conversation: ConversationId; name: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Sets a bookmark, or moves it. */
  'PUT /conversations/{conversation}/bookmarks/{name}': {
    path: { conversation: ConversationId; name: string };
    query: undefined;
    body: NewBookmark;
    answer: undefined;
  };
  /** Lists the branches of a conversation. */
  'GET /conversations/{conversation}/branches': {
    path: { conversation: ConversationId };
    query: undefined;
    body: undefined;
    answer: (BranchInfo)[];
  };
  /** Creates a branch after a message with a new message, and switches to it. */
  'POST /conversations/{conversation}/branches': {
    path: { conversation: ConversationId };
    query: undefined;
    body: NewBranch;
    answer: Appended;
  };
  /** Records a request to a model. */
  'POST /conversations/{conversation}/calls': {
    path: { conversation: ConversationId };
    query: undefined;
    body: CallDraft;
    answer: Recorded;
  };
  /** Starts with an empty path; the messages stay on their branch. */
  'POST /conversations/{conversation}/clear': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Nothing;
    answer: Conversation;
  };
  /** Deletes a draft. */
  'DELETE /conversations/{conversation}/draft': {
    path: { conversation: ConversationId };
    query: { actor?: string | null };
    body: undefined;
    answer: undefined;
  };
  /** Returns a draft. */
  'GET /conversations/{conversation}/draft': {
    path: { conversation: ConversationId };
    query: { actor?: string | null };
    body: undefined;
    answer: Draft;
  };
  /** Saves a draft. */
  'PUT /conversations/{conversation}/draft': {
    path: { conversation: ConversationId };
    query: { actor?: string | null };
    body: Draft;
    answer: undefined;
  };
  /** Replaces a message; the old one stays as an alternative. */
  'POST /conversations/{conversation}/edit': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Edit;
    answer: Appended;
  };
  /** Returns events after a cursor. */
  'GET /conversations/{conversation}/events': {
    path: { conversation: ConversationId };
    query: { after?: number; channels?: string | null; limit?: number | null };
    body: undefined;
    answer: (Event)[];
  };
  /** Logs events and returns the cursor of the last one. */
  'POST /conversations/{conversation}/events': {
    path: { conversation: ConversationId };
    query: undefined;
    body: NewEvents;
    answer: Logged;
  };
  /** Stores an unsent message outside the current path. */
  'POST /conversations/{conversation}/failed': {
    path: { conversation: ConversationId };
    query: undefined;
    body: MessageInput;
    answer: Appended;
  };
  /** Adds a fold: the model sees a summary instead of the messages, or not the omitted parts. */
  'POST /conversations/{conversation}/folds': {
    path: { conversation: ConversationId };
    query: undefined;
    body: FoldInput;
    answer: Folded;
  };
  /** Creates a conversation that continues from a message. Nothing is copied. */
  'POST /conversations/{conversation}/fork': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Fork;
    answer: Conversation;
  };
  /** Hides messages from the model; readers still see them. */
  'POST /conversations/{conversation}/hide': {
    path: { conversation: ConversationId };
    query: undefined;
    body: MessageRange;
    answer: Hidden;
  };
  /** Queues an input for a run. */
  'POST /conversations/{conversation}/inputs': {
    path: { conversation: ConversationId };
    query: undefined;
    body: NewInput;
    answer: Queued;
  };
  /** Takes inputs out of the queue. */
  'POST /conversations/{conversation}/inputs/take': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Taken;
    answer: undefined;
  };
  /** Inserts messages into the current path; the following messages come after them. */
  'POST /conversations/{conversation}/insert': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Insert;
    answer: Appended;
  };
  /** Releases a lease. */
  'DELETE /conversations/{conversation}/lease': {
    path: { conversation: ConversationId };
    query: { token: number };
    body: undefined;
    answer: undefined;
  };
  /** Acquires the lease of a run if it is free or expired. */
  'POST /conversations/{conversation}/lease': {
    path: { conversation: ConversationId };
    query: undefined;
    body: NewLease;
    answer: TakenLease;
  };
  /** Extends a lease. */
  'PUT /conversations/{conversation}/lease': {
    path: { conversation: ConversationId };
    query: undefined;
    body: LeaseRenewal;
    answer: undefined;
  };
  /** Returns a page of messages of the current path, or of a branch, in reading order. */
  'GET /conversations/{conversation}/messages': {
    path: { conversation: ConversationId };
    query: { branch?: BranchId | null; direction?: Towards | null; from?: MessageId | null; limit?: number | null };
    body: undefined;
    answer: MessagePage;
  };
  /** Appends messages at the head, all or none. They are on disk when the response arrives. */
  'POST /conversations/{conversation}/messages': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Append;
    answer: Appended;
  };
  /** Deletes a conversation in the trash for good. */
  'POST /conversations/{conversation}/purge': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Nothing;
    answer: undefined;
  };
  /** Redoes the last undone change of a conversation. */
  'POST /conversations/{conversation}/redo': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Nothing;
    answer: Conversation;
  };
  /** Stores another answer as the current alternative. */
  'POST /conversations/{conversation}/regenerate': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Regenerate;
    answer: Appended;
  };
  /** Removes messages from the current path; they stay on their previous branch. */
  'POST /conversations/{conversation}/remove': {
    path: { conversation: ConversationId };
    query: undefined;
    body: MessageRange;
    answer: Conversation;
  };
  /** Renames a conversation: 1 to 50 characters, not empty, without / \ : * ? " < > |. */
  'POST /conversations/{conversation}/rename': {
    path: { conversation: ConversationId };
    query: undefined;
    body: NewName;
    answer: Conversation;
  };
  /** Restores a conversation from the trash or the archive. */
  'POST /conversations/{conversation}/restore': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Nothing;
    answer: Conversation;
  };
  /** Moves the head back to a message; the next append creates a branch there. */
  'POST /conversations/{conversation}/rewind': {
    path: { conversation: ConversationId };
    query: undefined;
    body: ToMessage;
    answer: Conversation;
  };
  /** Returns the value of a state at the head, or at a message. */
  'GET /conversations/{conversation}/state/{name}': {
    path: { conversation: ConversationId; name: string };
    query: { at?: MessageId | null };
    body: undefined;
    answer: Json;
  };
  /** Sets a state after a message; without a value it is unset. State belongs to the branch. */
  'PUT /conversations/{conversation}/state/{name}': {
    path: { conversation: ConversationId; name: string };
    query: undefined;
    body: NewState;
    answer: undefined;
  };
  /** Starts a streaming message. */
  'POST /conversations/{conversation}/streams': {
    path: { conversation: ConversationId };
    query: undefined;
    body: MessageInput;
    answer: Appended;
  };
  /** Switches to the end of another branch. */
  'POST /conversations/{conversation}/switch': {
    path: { conversation: ConversationId };
    query: undefined;
    body: SwitchTo;
    answer: Conversation;
  };
  /** Returns the changes that undo and redo would apply to. */
  'GET /conversations/{conversation}/undo': {
    path: { conversation: ConversationId };
    query: undefined;
    body: undefined;
    answer: UndoSteps;
  };
  /** Undoes the last change of a conversation. */
  'POST /conversations/{conversation}/undo': {
    path: { conversation: ConversationId };
    query: undefined;
    body: Nothing;
    answer: Conversation;
  };
  /** Reports versions, settings and sizes. */
  'GET /doctor': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: DoctorReport;
  };
  /** Lists the newest version of each document of a kind. */
  'GET /documents/{kind}': {
    path: { kind: string };
    query: undefined;
    body: undefined;
    answer: (Document)[];
  };
  /** Removes a document; its versions are kept. */
  'DELETE /documents/{kind}/{name}': {
    path: { kind: string; name: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Returns the newest version of a document. */
  'GET /documents/{kind}/{name}': {
    path: { kind: string; name: string };
    query: undefined;
    body: undefined;
    answer: Document;
  };
  /** Writes the next version of a document. */
  'PUT /documents/{kind}/{name}': {
    path: { kind: string; name: string };
    query: undefined;
    body: NewDocument;
    answer: Versioned;
  };
  /** Lists all versions of a document, oldest first. */
  'GET /documents/{kind}/{name}/versions': {
    path: { kind: string; name: string };
    query: undefined;
    body: undefined;
    answer: (Document)[];
  };
  /** Erases a message, a conversation or everything an author wrote, without a trace in the files. The response lists what is kept; `backups=replace` replaces the managed backups. */
  'POST /erase': {
    path: undefined;
    query: { backups?: OldBackups };
    body: ErasePlan;
    answer: ErasedContent;
  };
  /** Exports everything, one conversation, or the conversations with search results, as JSON lines without loss. */
  'GET /export': {
    path: undefined;
    query: { conversation?: ConversationId | null; query?: string | null };
    body: undefined;
    answer: undefined;
  };
  /** Exports conversations in the format of another program: a file, or a zip of several. The header `Manent-Losses` lists what the format cannot represent. */
  'GET /export/files': {
    path: undefined;
    query: { conversation?: ConversationId | null; format: string; generation?: string | null; query?: string | null; redact?: boolean };
    body: undefined;
    answer: undefined;
  };
  /** Enables a fold again. */
  'POST /folds/{fold}/refold': {
    path: { fold: FoldId };
    query: undefined;
    body: Nothing;
    answer: undefined;
  };
  /** Disables a fold: the model sees its messages again. */
  'POST /folds/{fold}/unfold': {
    path: { fold: FoldId };
    query: undefined;
    body: Nothing;
    answer: undefined;
  };
  /** Lists the formats that can be imported and exported. */
  'GET /formats': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: (FormatView)[];
  };
  /** Imports JSON lines. Invalid lines are reported with their number; the rest is imported. */
  'POST /import': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: JsonlImportReport;
  };
  /** Imports files of another program: a file, or a zip of several. With `Accept: text/event-stream` the response is a stream of `progress` events, then a `report` or a `problem`. */
  'POST /import/files': {
    path: undefined;
    query: { as?: string | null; dry_run?: boolean; name?: string | null };
    body: undefined;
    answer: FileImportReport;
  };
  /** Returns changes after a position, oldest first. With `Accept: text/event-stream` it is a live stream; `Last-Event-ID` resumes it. */
  'GET /journal': {
    path: undefined;
    query: { after?: After; conversation?: ConversationId | null; limit?: number | null };
    body: undefined;
    answer: JournalPage;
  };
  /** Lists the keys of the tenant by creation time, including revoked ones, without secrets. */
  'GET /keys': {
    path: undefined;
    query: { after?: KeyId | null; limit?: number | null };
    body: undefined;
    answer: Keys;
  };
  /** Creates an API key. The secret is returned only in this response; repeating the request creates another key. */
  'POST /keys': {
    path: undefined;
    query: undefined;
    body: KeyDraft;
    answer: CreatedKey;
  };
  /** Revokes a key, and ends its streams and sessions. */
  'DELETE /keys/{key}': {
    path: { key: KeyId };
    query: undefined;
    body: undefined;
    answer: Key;
  };
  /** Lists memories, oldest first. */
  'GET /memories': {
    path: undefined;
    query: { after?: MemoryId | null; collection?: string | null; external?: string | null; limit?: number | null; project?: ProjectId | null };
    body: undefined;
    answer: (Memory)[];
  };
  /** Stores a memory, or replaces the one with this id. */
  'POST /memories': {
    path: undefined;
    query: undefined;
    body: MemoryDraft;
    answer: Remembered;
  };
  /** Removes a memory. */
  'DELETE /memories/{memory}': {
    path: { memory: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Returns a message with its location. */
  'GET /messages/{message}': {
    path: { message: MessageId };
    query: undefined;
    body: undefined;
    answer: LocatedMessage;
  };
  /** Appends a chunk to a streaming message. */
  'POST /messages/{message}/chunks': {
    path: { message: MessageId };
    query: undefined;
    body: Chunk;
    answer: undefined;
  };
  /** Finishes a streaming message. */
  'POST /messages/{message}/finish': {
    path: { message: MessageId };
    query: undefined;
    body: FinishStream;
    answer: undefined;
  };
  /** Adds a note to a message: a rating, a pin, a label. */
  'POST /messages/{message}/notes': {
    path: { message: MessageId };
    query: undefined;
    body: NewNote;
    answer: Noted;
  };
  /** Lists the alternatives of a message, including itself, in pages of at most 4 MiB. */
  'GET /messages/{message}/siblings': {
    path: { message: MessageId };
    query: { after?: MessageId | null };
    body: undefined;
    answer: LocatedMessagePage;
  };
  /** Lists the thread of replies that contains a message, in pages of at most 4 MiB. */
  'GET /messages/{message}/thread': {
    path: { message: MessageId };
    query: { after?: MessageId | null };
    body: undefined;
    answer: LocatedMessagePage;
  };
  /** Removes a note. */
  'DELETE /notes/{note}': {
    path: { note: string };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Lists all projects. */
  'GET /projects': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: (Project)[];
  };
  /** Creates a project. */
  'POST /projects': {
    path: undefined;
    query: undefined;
    body: NewProject;
    answer: Project;
  };
  /** Removes a project; its conversations are kept. */
  'DELETE /projects/{project}': {
    path: { project: ProjectId };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Returns a project. */
  'GET /projects/{project}': {
    path: { project: ProjectId };
    query: undefined;
    body: undefined;
    answer: Project;
  };
  /** Changes a project. Omitted fields are kept; a fact with the value null is removed. */
  'PATCH /projects/{project}': {
    path: { project: ProjectId };
    query: undefined;
    body: ProjectPatch;
    answer: Project;
  };
  /** Redoes the last undone change. */
  'POST /redo': {
    path: undefined;
    query: undefined;
    body: UndoParameters;
    answer: Stepped;
  };
  /** Rebuilds the search index in the background. With `Accept: text/event-stream` the response is a stream of `progress` events, then a `report` or a `problem`. */
  'POST /reindex': {
    path: undefined;
    query: undefined;
    body: Nothing;
    answer: IndexStatus;
  };
  /** Resolves an id, a unique prefix of an id, an external id, or @last. */
  'GET /resolve': {
    path: undefined;
    query: { kind?: Named; text: string };
    body: undefined;
    answer: Resolved;
  };
  /** Searches messages, titles and tags, including messages that were just appended. A syntax error is a problem with the code `query` and its position in `at`. */
  'GET /search': {
    path: undefined;
    query: { after?: string | null; count?: CountMode; group?: Grouping; in?: ConversationId | null; include?: string | null; limit?: number | null; neighbours?: number | null; offset?: number; order?: SearchOrder; q: string; typing?: boolean };
    body: undefined;
    answer: SearchPage;
  };
  /** Returns the progress of the search index. Searches include unindexed messages. */
  'GET /search/index': {
    path: undefined;
    query: { wait?: boolean };
    body: undefined;
    answer: IndexStatus;
  };
  /** Ends the session and its streams. */
  'DELETE /session': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Returns the current session and server version. */
  'GET /session': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: Session;
  };
  /** Starts a session of the page with the token or a key. The response sets a cookie; requests with the cookie also need the secret as `Manent-Session`. */
  'POST /session': {
    path: undefined;
    query: undefined;
    body: Login;
    answer: SessionSecret;
  };
  /** Lists all imported files. */
  'GET /sources': {
    path: undefined;
    query: undefined;
    body: undefined;
    answer: (Source)[];
  };
  /** Lists the origins of the objects of an imported file. */
  'GET /sources/{source}/origins': {
    path: { source: string };
    query: undefined;
    body: undefined;
    answer: (Origin)[];
  };
  /** Returns the quarantined bytes of an imported file. */
  'GET /sources/{source}/quarantined': {
    path: { source: string };
    query: undefined;
    body: undefined;
    answer: (Quarantined)[];
  };
  /** Returns statistics: messages, words, tokens and response times by day, model and role. */
  'GET /stats': {
    path: undefined;
    query: { conversation?: ConversationId | null; project?: ProjectId | null; since?: string | null; tag?: string | null; until?: string | null };
    body: undefined;
    answer: Stats;
  };
  /** Lists tenants by creation time, without erased ones. */
  'GET /tenants': {
    path: undefined;
    query: { after?: TenantId | null; limit?: number | null };
    body: undefined;
    answer: TenantsPage;
  };
  /** Creates a tenant with an empty store. */
  'POST /tenants': {
    path: undefined;
    query: undefined;
    body: NewTenant;
    answer: Tenant;
  };
  /** Returns a tenant, and the receipt if it was erased. */
  'GET /tenants/{tenant}': {
    path: { tenant: TenantId };
    query: undefined;
    body: undefined;
    answer: TenantView;
  };
  /** Erases a tenant: store, index, managed backups, users, keys, and personal details in the audit log. Returns a receipt. */
  'POST /tenants/{tenant}/erase': {
    path: { tenant: TenantId };
    query: undefined;
    body: Confirmed;
    answer: Erasure;
  };
  /** Exports a tenant as JSON lines, without loss. */
  'GET /tenants/{tenant}/export': {
    path: { tenant: TenantId };
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Creates a key for a tenant, such as the first admin key. The secret is returned only in this response. */
  'POST /tenants/{tenant}/keys': {
    path: { tenant: TenantId };
    query: undefined;
    body: KeyDraft;
    answer: CreatedKey;
  };
  /** Resumes a suspended tenant. */
  'POST /tenants/{tenant}/resume': {
    path: { tenant: TenantId };
    query: undefined;
    body: Nothing;
    answer: Tenant;
  };
  /** Suspends a tenant: rejects new requests and closes open streams. Data is kept. */
  'POST /tenants/{tenant}/suspend': {
    path: { tenant: TenantId };
    query: undefined;
    body: Nothing;
    answer: Tenant;
  };
  /** Lists open tool calls of all conversations, oldest first. */
  'GET /tool-calls': {
    path: undefined;
    query: { limit?: number | null };
    body: undefined;
    answer: (OpenCall)[];
  };
  /** Records a tool call with its first state. */
  'POST /tool-calls': {
    path: undefined;
    query: undefined;
    body: ToolCallInput;
    answer: undefined;
  };
  /** Moves a tool call to another state. */
  'POST /tool-calls/move': {
    path: undefined;
    query: undefined;
    body: ToolMove;
    answer: undefined;
  };
  /** Undoes the last change of the store. */
  'POST /undo': {
    path: undefined;
    query: undefined;
    body: UndoParameters;
    answer: Stepped;
  };
  /** Lists the users of the tenant by id. */
  'GET /users': {
    path: undefined;
    query: { after?: string | null; limit?: number | null };
    body: undefined;
    answer: Users;
  };
  /** Returns a user. */
  'GET /users/{user}': {
    path: { user: string };
    query: undefined;
    body: undefined;
    answer: User;
  };
  /** Adds a user by the id of your own system, or changes the name of one. */
  'PUT /users/{user}': {
    path: { user: string };
    query: undefined;
    body: NewUser;
    answer: User;
  };
  /** Erases the content and data of a user: conversations without other members, messages in others, drafts, keys, personal details in the audit log, and managed backups that contain them. Returns a receipt. */
  'POST /users/{user}/erase': {
    path: { user: string };
    query: undefined;
    body: Nothing;
    answer: Erasure;
  };
  /** Checks every digest and chain, and reports what was altered, lost or duplicated. */
  'POST /verify': {
    path: undefined;
    query: undefined;
    body: Nothing;
    answer: VerifyReport;
  };
}
