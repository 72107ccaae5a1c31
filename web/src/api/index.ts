// The API client as the rest of the page uses it.

export { call, freshKey, onUnauthorized } from './client';
export { exportFiles, exportLines, importFile, importLines, type Lost } from './files';
export { follow, type LiveState } from './live';
export { forgetPass, keepPass } from './pass';
export { isAborted, Problem } from './problem';
export type {
  Author,
  BranchId,
  BranchInfo,
  Conversation,
  ConversationId,
  ConversationStatus,
  Field,
  SearchPage,
  Hit,
  FileImportReport,
  JournalEntry,
  Message,
  MessageId,
  Moment,
  NewMessage,
  Part,
  Snippet,
  UndoStep,
  UndoSteps,
} from './schema';
