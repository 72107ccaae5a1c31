// Runs before the first paint, so that a chosen theme does not flash in after the other one.
(function () {
  try {
    var theme = localStorage.getItem('manent.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
    var locale = localStorage.getItem('manent.locale') || navigator.language || 'en';
    document.documentElement.lang = /^zh/i.test(locale) ? 'zh-CN' : 'en';
  } catch (_) {
    // Without storage the system's choice holds.
  }
})();
