// What pages do better with a script: they work without it.
"use strict";

// The theme follows the system until the reader chooses.
const theme = document.getElementById("theme");
if (theme) {
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* for this page alone */ }
  });
}

// "/" goes to the search.
const q = document.getElementById("q");
document.addEventListener("keydown", (event) => {
  const at = document.activeElement;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || at && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return;
  event.preventDefault();
  if (q) { q.focus(); q.select(); } else location.assign("/");
});

// The arrow keys go from the search through the skills that it found, and back.
document.addEventListener("keydown", (event) => {
  if (!["ArrowDown", "ArrowUp"].includes(event.key) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const found = [...document.querySelectorAll("#results .skills h2 a")], at = found.indexOf(document.activeElement);
  if (at < 0 && document.activeElement !== q) return;
  const to = event.key === "ArrowDown" ? found[at + 1] : at === 0 ? q : found[at - 1];
  if (!to) return;
  event.preventDefault();
  to.focus();
});

// The search shows its results while one types: the same page, of which the list
// alone is taken over.
if (q) {
  let waiting = 0, asked = null;
  const search = () => {
    const address = new URL(q.form.action);
    for (const [key, value] of new FormData(q.form)) if (value.trim()) address.searchParams.set(key, value.trim());
    if (asked) asked.abort();
    const request = asked = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.onload = () => {
      const fresh = request.response && request.response.getElementById("results");
      if (request.status === 401) location.assign(address); // the session is over
      if (request.status !== 200 || !fresh) return;
      fresh.querySelector(".filters").open = document.querySelector(".filters").open;
      document.getElementById("results").replaceWith(document.adoptNode(fresh));
      document.getElementById("said").textContent = fresh.querySelector(".sum").textContent;
      history.replaceState(null, "", address);
    };
    request.send();
  };
  q.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 120); });
  q.form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(waiting); search(); });
}

// What is to be copied has a button for it.
if (navigator.clipboard) {
  for (const code of document.querySelectorAll("code.copy")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copier";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    const block = code.parentElement.tagName === "PRE" ? code.parentElement : code;
    block.after(button);
  }
  // A whole file is fetched when it is asked for.
  for (const button of document.querySelectorAll("button[data-copy]")) {
    const label = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = fetch(button.dataset.copy).then((answer) => { if (!answer.ok) throw new Error(answer.status); return answer.text(); });
      try {
        await navigator.clipboard.write([new ClipboardItem({ "text/plain": text.then((text) => new Blob([text], { type: "text/plain" })) })]);
        button.textContent = "Copied";
      } catch {
        button.textContent = "It cannot be copied";
      }
      setTimeout(() => { button.textContent = label; }, 1500);
    });
  }
}
