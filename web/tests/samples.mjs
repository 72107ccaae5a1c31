// Conversations as people have them, for pictures and for the checks that need every kind of content.

const MINUTE = 60_000;

/** Writes the sample conversations and returns their ids by name. */
export async function writeSamples({ call }, now = Date.now()) {
  const at = (minutes) => new Date(now - minutes * MINUTE).toISOString();
  const ids = {};

  const make = async (name, title, minutesAgo, messages, more = {}) => {
    const { id } = await call('POST', '/conversations', { title, ...more });
    const said = messages.map((message, index) => ({ time: at(minutesAgo - index * 2), ...message }));
    const added = said.length > 0 ? (await call('POST', `/conversations/${id}/messages`, { messages: said })).ids : [];
    const times = { created_at: at(minutesAgo + 1), active_at: at(Math.max(0, minutesAgo - messages.length * 2)) };
    await call('PATCH', `/conversations/${id}`, { times });
    ids[name] = { id, messages: added };
    return ids[name];
  };

  const HOUR = 60;
  const DAY = 24 * HOUR;
  for (const [index, [title, days, count]] of [
    ['Kubernetes ingress checklist', 46, 12],
    ['给外婆的生日祝福', 39, 6],
    ['Trip to Lisbon, three days', 33, 18],
    ['毕业论文：致谢部分润色', 26, 9],
    ['Flaky test in the importer', 17, 31],
    ['Sourdough, second attempt', 12, 14],
    ['面试题：LRU 缓存', 6, 10],
    ['Contract wording, clause 7', 5, 4],
    ['周报模板', 4, 3],
    ['Regex for ISO dates', 2, 5],
    ['读书笔记：《人类简史》', 1, 22],
  ].entries()) {
    const messages = Array.from({ length: count }, (_, place) => ({
      role: place % 2 === 0 ? 'user' : 'assistant',
      text: place % 2 === 0 ? `${title} (${place / 2 + 1})` : 'Noted.',
    }));
    await make(`old${index}`, title, days * DAY + 3 * HOUR, messages);
  }

  await make('recipes', '红烧肉怎么做才不腻', 26 * HOUR, [
    { role: 'user', text: '红烧肉怎么做才不腻？' },
    { role: 'assistant', model: 'qwen3-max', text: '关键在三步：先焯水，再煸出油，最后小火慢炖一个小时以上。' },
  ]);
  const pinned = await make('pinned', 'Reading list 2026', 3 * DAY, [
    { role: 'user', text: 'Keep a list of the papers we talked about.' },
    { role: 'assistant', model: 'claude-opus-4-1', text: 'Here it is; I will add to it as we go.' },
  ]);
  await call('PATCH', `/conversations/${pinned.id}`, { pinned: true });

  const weather = await make('weather', '北京周末天气与出行', 75, [
    { role: 'user', text: '北京这个周末天气怎么样？适合去爬香山吗？' },
    {
      role: 'assistant',
      model: 'qwen3-max',
      parts: [
        { type: 'reasoning', text: '用户想知道周末天气和香山是否适合爬。需要先查询天气预报，再看红叶季的人流。' },
        { type: 'tool_call', id: 'call_1', name: 'get_weather', input: { city: '北京', days: 3, unit: 'celsius' } },
      ],
    },
    {
      role: 'tool',
      parts: [
        {
          type: 'tool_result',
          call: 'call_1',
          content: { saturday: { sky: '晴', high: 16, low: 4, wind: '北风 2 级' }, sunday: { sky: '多云', high: 13, low: 3 } },
        },
      ],
    },
    {
      role: 'assistant',
      model: 'qwen3-max',
      text: '周六更合适：晴，4 到 16 度，北风 2 级，能见度好。周日转多云，最高 13 度。\n\n建议周六早上八点前到香山东门，避开人流；山顶比市区低四五度，带一件防风外套。',
    },
    { role: 'user', text: '帮我列一个简单的行程。' },
    {
      role: 'assistant',
      model: 'qwen3-max',
      text: '07:10  地铁西郊线到香山站\n07:50  东门入园，走静翠湖一线\n09:40  登顶香炉峰，休息半小时\n11:30  下山，在买卖街吃午饭\n13:00  顺路去植物园，或直接返程',
    },
  ]);
  await call('POST', `/conversations/${weather.id}/regenerate`, {
    answer: weather.messages[5],
    with: {
      role: 'assistant',
      model: 'qwen3-max',
      text: '07:10  地铁西郊线到香山站\n07:50  东门入园，走静翠湖一线\n09:40  登顶香炉峰，拍照、喝热茶\n11:30  坐索道下山，买卖街午饭\n13:00  国家植物园看晚秋的水杉\n\n如果带孩子，上山可以坐索道，把登顶时间提前到九点。',
    },
  });
  await call('PATCH', `/conversations/${weather.id}`, { times: { created_at: at(76), active_at: at(60) } });

  const rust = await make('rust', 'Debounce an async save in Rust', 34, [
    { role: 'user', text: 'I save a draft on every keystroke. How do I wait until typing pauses, without losing the last text?' },
    {
      role: 'assistant',
      model: 'claude-opus-4-1',
      parts: [
        {
          type: 'reasoning',
          text: 'A watch channel keeps only the newest value, which is exactly the debounce semantics. Shutdown must flush what is pending.',
        },
        {
          type: 'text',
          text: 'A `watch` channel fits well: it only ever holds the newest text, so nothing piles up, and the last value is never lost.\n\n```rust\nasync fn saver(mut texts: watch::Receiver<String>, store: Store) {\n    while texts.changed().await.is_ok() {\n        // Wait until nobody has typed for a moment.\n        while timeout(QUIET, texts.changed()).await.is_ok() {}\n        let text = texts.borrow_and_update().clone();\n        store.save(&text).await;\n    }\n}\n```\n\nWhen the sender is dropped, `changed()` returns an error. Save once more after the loop if a text may still be waiting.',
        },
      ],
    },
    { role: 'user', text: 'Does that still save the last text if the window closes within the quiet time?' },
    {
      role: 'assistant',
      model: 'claude-opus-4-1',
      parts: [
        { type: 'tool_call', id: 'toolu_1', name: 'run_tests', input: { filter: 'draft::', threads: 1 } },
        { type: 'tool_result', call: 'toolu_1', content: 'running 3 tests\ntest draft::pauses ... ok\ntest draft::closes_early ... FAILED\ntest draft::retries ... ok' },
        {
          type: 'text',
          text: 'No, and the test shows it: closing early loses the text. Flush after the loop:\n\n```rust\nlet rest = texts.borrow().clone();\nif !rest.is_empty() {\n    store.save(&rest).await;\n}\n```\n\nNow the order is fixed: the newest text is saved exactly once, whether the pause or the close comes first.',
        },
      ],
    },
  ]);
  await call('POST', `/conversations/${rust.id}/edit`, {
    message: rust.messages[2],
    with: { role: 'user', text: 'And if the window closes before the pause is over: is the last text saved?', time: at(30) },
    tail: 'keep',
  });
  await call('PATCH', `/conversations/${rust.id}`, { times: { created_at: at(35), active_at: at(8) } });
  return ids;
}
