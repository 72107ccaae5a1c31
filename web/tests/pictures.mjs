// Takes the pictures of the page: node tests/pictures.mjs [folder]

import { mkdirSync } from 'node:fs';
import { writeSamples } from './samples.mjs';
import { enter, openConversation, openPage, startBrowser, startServer } from './server.mjs';

const folder = process.argv[2] ?? 'screenshots';
mkdirSync(folder, { recursive: true });
const server = await startServer();
const browser = await startBrowser();
const ids = await writeSamples(server);

for (const [language, scheme, name] of [['en-US', 'light', 'rust'], ['zh-CN', 'dark', 'weather']]) {
  for (const [width, height] of [[1440, 900], [390, 844]]) {
    const narrow = width < 768;
    const { context, page, errors } = await openPage(browser, {
      viewport: { width, height },
      locale: language,
      colorScheme: scheme,
      timezoneId: 'Asia/Shanghai',
      hasTouch: narrow,
      isMobile: narrow,
    });
    await enter(page, server);
    await openConversation(page, ids[name].id);
    await page.waitForTimeout(500);
    const short = language.slice(0, 2);
    await page.screenshot({ path: `${folder}/${narrow ? 'narrow' : 'page'}-${short}.png` });
    if (narrow) {
      await page.getByTestId('open-drawer').click();
      await page.waitForTimeout(300);
      await page.screenshot({ path: `${folder}/drawer-${short}.png` });
    }
    if (errors.length > 0) console.error(errors);
    await context.close();
  }
}
await browser.close();
await server.stop();
