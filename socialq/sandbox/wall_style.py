"""The wall's style sheet and script, served as files of their own so that nothing runs inline."""

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #f3f4f7; --card: #ffffff; --ink: #1b1f2a; --soft: #5d6577; --line: #e1e4eb;
  --accent: #4b53d8; --accent-soft: #eceefe; --thread: #cfd3ef; --mark: #fff6d8;
  --radius: 14px; --gap: 16px;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12141b; --card: #1b1e28; --ink: #e8eaf1; --soft: #99a1b5; --line: #2b3040;
    --accent: #9aa2ff; --accent-soft: #262b47; --thread: #3a4066; --mark: #3a3420;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 72px; }
body {
  margin: 0; background: var(--ground); color: var(--ink); line-height: 1.5;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
header.top {
  position: sticky; top: 0; z-index: 2; background: var(--card); border-bottom: 1px solid var(--line);
}
header.top .inner {
  max-width: 944px; margin: 0 auto; padding: 12px var(--gap);
  display: flex; align-items: baseline; gap: 12px; flex-wrap: wrap;
}
h1 { font-size: 1.1rem; margin: 0; letter-spacing: -0.01em; }
h1 a { color: inherit; }
.count { color: var(--soft); font-size: .9rem; }
.layout {
  max-width: 944px; margin: 0 auto; padding: 20px var(--gap) 48px;
  display: grid; grid-template-columns: 240px minmax(0, 640px); gap: 32px; align-items: start;
}
nav.filters { position: sticky; top: 76px; max-height: calc(100vh - 96px); overflow-y: auto; }
nav.filters h2 {
  font-size: .75rem; text-transform: uppercase; letter-spacing: .06em; color: var(--soft);
  margin: 18px 0 6px; padding: 0 12px;
}
nav.filters ul { list-style: none; margin: 0; padding: 0; }
nav.filters a {
  display: flex; justify-content: space-between; gap: 12px; padding: 6px 12px; border-radius: 9px;
  color: var(--ink);
}
nav.filters a > bdi { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
nav.filters a:hover { background: var(--accent-soft); text-decoration: none; }
nav.filters a[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600; }
nav.filters .n { color: var(--soft); font-variant-numeric: tabular-nums; font-weight: 400; }
.thread {
  background: var(--card); border: 1px solid var(--line); border-radius: var(--radius);
  margin: 0 0 var(--gap); padding: 4px 0; overflow: hidden;
}
.post {
  position: relative; display: grid; grid-template-columns: 44px minmax(0, 1fr); gap: 12px;
  padding: 12px 16px; padding-left: calc(16px + var(--depth, 0) * 28px);
}
.post:target { background: var(--mark); }
.post.fresh { animation: fresh 2.4s ease-out; }
@keyframes fresh { from { background: var(--mark); } }
.post.joined::before {
  content: ""; position: absolute; left: calc(37px + var(--depth, 0) * 28px); top: 60px; bottom: -12px;
  width: 2px; background: var(--thread);
}
.face {
  width: 44px; height: 44px; border-radius: 50%; display: grid; place-items: center; z-index: 1;
  background: hsl(var(--hue) 55% 45%); color: #fff; font-weight: 600; font-size: 1.15rem; user-select: none;
}
.who { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 8px; }
.who .name { font-weight: 650; overflow-wrap: anywhere; }
.who .handle, .who .where, .who time { color: var(--soft); font-size: .875rem; }
.who .where { white-space: nowrap; }
.who .where::before { content: "· "; }
.who a.when { margin-inline-start: auto; color: var(--soft); white-space: nowrap; }
.text { margin: 2px 0 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.note { color: var(--soft); font-size: .85rem; margin: 0 0 2px; }
.tag {
  font-size: .75rem; padding: 0 7px; border-radius: 99px;
  background: var(--accent-soft); color: var(--accent);
}
details.warned summary { cursor: pointer; font-weight: 600; margin-top: 2px; }
.media { display: grid; gap: 6px; margin-top: 10px; grid-template-columns: 1fr; }
.media.many { grid-template-columns: 1fr 1fr; }
.media figure { margin: 0; min-width: 0; }
.media img, .media video {
  display: block; width: 100%; max-height: 420px; object-fit: cover; border-radius: 10px;
  border: 1px solid var(--line); background: var(--ground);
}
.media.many img { aspect-ratio: 4 / 3; }
.media audio { width: 100%; }
a.card { display: block; margin-top: 10px; padding: 10px 12px; border: 1px solid var(--line);
  border-radius: 10px; overflow-wrap: anywhere; font-weight: 600; }
a.card span { display: block; color: var(--soft); font-size: .875rem; font-weight: 400; }
.media figcaption { color: var(--soft); font-size: .8rem; margin-top: 3px; overflow-wrap: anywhere; }
.media figcaption b { font-size: .68rem; letter-spacing: .05em; margin-inline-end: 5px; }
.empty {
  text-align: center; padding: 64px 24px; color: var(--soft); background: var(--card);
  border: 1px dashed var(--line); border-radius: var(--radius);
}
.empty strong { display: block; color: var(--ink); font-size: 1.1rem; margin-bottom: 4px; }
.more { text-align: center; margin: 8px 0 24px; }
footer { color: var(--soft); font-size: .85rem; margin-top: 24px; }
footer a { margin-inline-end: 12px; }
@media (max-width: 760px) {
  html { scroll-padding-top: 120px; }
  .layout { grid-template-columns: minmax(0, 1fr); gap: 8px; padding-top: 10px; }
  nav.filters {
    position: static; max-height: none; display: flex; overflow-x: auto; gap: 6px; padding: 2px 0 8px;
    margin: 0 calc(-1 * var(--gap)); padding-inline: var(--gap); scrollbar-width: none;
  }
  nav.filters h2 { display: none; }
  nav.filters ul { display: flex; gap: 6px; }
  nav.filters a {
    background: var(--card); border: 1px solid var(--line); border-radius: 99px; white-space: nowrap;
    padding: 4px 12px; font-size: .9rem;
  }
  nav.filters a > bdi { max-width: 12rem; }
  .post { grid-template-columns: 38px minmax(0, 1fr); gap: 10px; padding: 10px 12px; }
  .post { padding-left: calc(12px + var(--depth, 0) * 14px); }
  .face { width: 38px; height: 38px; font-size: 1rem; }
  .post.joined::before { left: calc(30px + var(--depth, 0) * 14px); top: 52px; }
  nav.filters li.aside { display: none; }
  .who a.when { margin-inline-start: 0; flex-basis: 100%; }
}
"""

SCRIPT = """
"use strict";
const EVERY_MS = 3000;
const shown = new Intl.DateTimeFormat(undefined, {dateStyle: "medium", timeStyle: "medium"});
let version = document.getElementById("world").dataset.version;

function localTimes(root) {
  for (const time of root.querySelectorAll("time")) {
    const moment = new Date(time.dateTime);
    time.title = time.dateTime;
    time.textContent = shown.format(moment);
  }
}

function isBusy(world) {
  return world.querySelector("details[open]") ||
    [...world.querySelectorAll("video, audio")].some((player) => !player.paused);
}

async function refresh() {
  const world = document.getElementById("world");
  if (document.hidden || isBusy(world)) return;
  const answer = await fetch(location.pathname + location.search, {headers: {"If-None-Match": version}});
  if (answer.status !== 200) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = page.getElementById("world");
  const known = new Set([...world.querySelectorAll(".post")].map((post) => post.id));
  localTimes(next);
  for (const post of next.querySelectorAll(".post")) {
    if (!known.has(post.id)) post.classList.add("fresh");
  }
  version = next.dataset.version;
  world.replaceWith(document.adoptNode(next));
  document.getElementById("count").textContent = page.getElementById("count").textContent;
}

localTimes(document);
setInterval(() => refresh().catch(() => undefined), EVERY_MS);
"""
