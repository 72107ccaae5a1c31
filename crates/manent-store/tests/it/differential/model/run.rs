//! Agent runs: tool calls, events, inputs, leases.

use super::*;

/// A tool call as it is now.
#[derive(Debug, Clone)]
pub struct Tool {
    pub call_id: String,
    pub name: String,
    pub state: ToolState,
    pub record: Json,
}

/// A step of the trail of a tool call.
#[derive(Debug, Clone)]
pub struct Trailed {
    pub number: u64,
    pub withdrawn: bool,
    pub message: MessageId,
    pub part: u32,
    pub step: ToolStep,
}

/// A lease; released if it has no owner.
#[derive(Debug, Clone)]
pub struct Held {
    pub owner: Option<String>,
    pub token: i64,
    pub until: Timestamp,
}

impl Thread {
    /// Returns the owner of a lease that a token still holds.
    pub fn held_lease(&self, token: i64) -> Result<String> {
        match &self.lease {
            Some(Held { owner: Some(owner), token: held, .. }) if *held == token => Ok(owner.clone()),
            _ => Err(Conflict::Lease.into()),
        }
    }
}

impl Tx<'_> {
    fn add_step(&mut self, serial: Serial, message: MessageId, part: u32, step: ToolStep) -> Old {
        let number = self.data.number();
        self.data.meet(step.actor.as_ref());
        self.data.thread_mut(serial).steps.push(Trailed { number, withdrawn: false, message, part, step });
        Old::Flag { number, withdrawn: true }
    }

    /// Takes a tool call of a conversation back, with its steps.
    fn remove_call(&mut self, serial: Serial, message: MessageId, part: u32) -> Result<Vec<Old>> {
        self.owned(message)?;
        let thread = self.data.thread_mut(serial);
        let tool = thread.tools.remove(&(message, part));
        let tool = tool.ok_or_else(|| not_found("tool call", format!("{part} of {message}")))?;
        let mut olds = vec![Old::Tool { thread: serial, message, part, tool: Some(tool) }];
        for known in thread.steps.iter_mut().filter(|it| (it.message, it.part) == (message, part) && !it.withdrawn) {
            known.withdrawn = true;
            olds.push(Old::Flag { number: known.number, withdrawn: false });
        }
        Ok(olds)
    }

    pub(super) fn put_tool_call(
        &mut self,
        call: ToolCall,
        steps: Vec<ToolStep>,
        instead_of: Option<ToolPart>,
    ) -> Result<ChangeResult> {
        let ToolCall { message, part, call_id, name, state, record } = call;
        let thread = self.owned(message)?.0;
        let serial = thread.serial;
        let mut olds = match instead_of {
            Some(at) => self.remove_call(serial, at.message, at.part)?,
            None => Vec::new(),
        };
        if self.data.thread(serial).tools.contains_key(&(message, part)) {
            return Err(exists("tool call", format!("{part} of {message}")));
        }
        self.data.thread_mut(serial).tools.insert((message, part), Tool { call_id, name, state, record });
        if instead_of != Some(ToolPart { message, part }) {
            olds.push(Old::Tool { thread: serial, message, part, tool: None });
        }
        for step in steps {
            olds.push(self.add_step(serial, message, part, step));
        }
        self.journal(Some(serial), JournalKind::ToolCallPut, olds);
        self.about([message]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn move_tool_call(
        &mut self,
        message: MessageId,
        part: u32,
        to: ToolState,
        record: Option<Json>,
        note: String,
    ) -> Result<ChangeResult> {
        let thread = self.owned(message)?.0;
        let serial = thread.serial;
        let found = thread.tools.get(&(message, part)).cloned();
        let earlier = found.ok_or_else(|| not_found("tool call", format!("{part} of {message}")))?;
        if !earlier.state.may_become(to) {
            return Err(Conflict::ToolState { from: earlier.state, to }.into());
        }
        let now = Tool { state: to, record: record.unwrap_or(earlier.record.clone()), ..earlier.clone() };
        self.data.thread_mut(serial).tools.insert((message, part), now);
        let step = ToolStep { state: to, at: self.at, actor: self.actor.clone(), note };
        let step = self.add_step(serial, message, part, step);
        let olds = vec![Old::Tool { thread: serial, message, part, tool: Some(earlier) }, step];
        self.journal(Some(serial), JournalKind::ToolCallMoved, olds);
        self.about([message]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn append_events(
        &mut self,
        conversation: ConversationId,
        events: Vec<NewEvent>,
    ) -> Result<ChangeResult> {
        let serial = self.data.seen(conversation)?.serial;
        if events.is_empty() {
            return invalid("an append has at least one event");
        }
        let mut olds = Vec::new();
        for NewEvent { channel, at, body } in events {
            let cursor = self.data.thread(serial).last_event + 1;
            let (event, old) = self.fasten(Event { cursor, channel, at, body }, Vec::new());
            let thread = self.data.thread_mut(serial);
            thread.last_event = cursor;
            thread.events.push(event);
            olds.push(old);
        }
        self.journal(Some(serial), JournalKind::EventsAppended, olds);
        Ok(ChangeResult::Events(self.data.thread(serial).last_event))
    }

    pub(super) fn put_input(&mut self, conversation: ConversationId, id: InputId, body: Json) -> Result<ChangeResult> {
        let serial = self.data.seen(conversation)?.serial;
        if self.data.threads.iter().flat_map(|thread| &thread.inputs).any(|input| input.value.id == id) {
            return Err(exists("input", id));
        }
        let (input, old) = self.fasten(Input { id, at: self.at, body, taken: false }, Vec::new());
        self.data.thread_mut(serial).inputs.push(input);
        self.journal(Some(serial), JournalKind::InputPut, vec![old]);
        Ok(ChangeResult::Applied)
    }

    pub(super) fn take_inputs(&mut self, conversation: ConversationId, ids: &[InputId]) -> Result<ChangeResult> {
        let thread = self.data.seen(conversation)?;
        let serial = thread.serial;
        let mut olds = Vec::new();
        for id in ids {
            let found = thread.inputs.iter().find(|input| input.value.id == *id && !input.withdrawn);
            let input = found.ok_or_else(|| not_found("input", id))?;
            if input.value.taken {
                return Err(Conflict::Taken.into());
            }
            olds.push(Old::InputTaken { thread: serial, number: input.number, taken: false });
        }
        for input in &mut self.data.thread_mut(serial).inputs {
            input.value.taken |= ids.contains(&input.value.id);
        }
        self.journal(Some(serial), JournalKind::InputsTaken, olds);
        Ok(ChangeResult::Applied)
    }

    fn put_lease(&mut self, serial: Serial, lease: Held) -> Result<ChangeResult> {
        let token = lease.token;
        self.data.thread_mut(serial).lease = Some(lease);
        self.journal(Some(serial), JournalKind::LeaseChanged, Vec::new());
        Ok(ChangeResult::Lease(token))
    }

    pub(super) fn take_lease(
        &mut self,
        conversation: ConversationId,
        owner: String,
        until: Timestamp,
    ) -> Result<ChangeResult> {
        if owner.is_empty() {
            return invalid("the owner of a lease has a name");
        }
        let thread = self.data.seen(conversation)?;
        let serial = thread.serial;
        let token = match &thread.lease {
            None => 1,
            Some(Held { owner: Some(holder), until, .. }) if *until > self.at && *holder != owner => {
                return Err(Conflict::Lease.into());
            }
            Some(Held { token, .. }) => token + 1,
        };
        self.put_lease(serial, Held { owner: Some(owner), token, until })
    }

    pub(super) fn renew_lease(
        &mut self,
        conversation: ConversationId,
        token: i64,
        until: Timestamp,
    ) -> Result<ChangeResult> {
        let thread = self.data.seen(conversation)?;
        let (serial, owner) = (thread.serial, thread.held_lease(token)?);
        self.put_lease(serial, Held { owner: Some(owner), token, until })
    }

    pub(super) fn release_lease(&mut self, conversation: ConversationId, token: i64) -> Result<ChangeResult> {
        let thread = self.data.seen(conversation)?;
        let serial = thread.serial;
        thread.held_lease(token)?;
        self.put_lease(serial, Held { owner: None, token, until: Timestamp(i64::MIN) })
    }
}
