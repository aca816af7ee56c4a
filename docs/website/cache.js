// Keeps the page and all that it loads, so that it works without a network; it answers nothing itself.

const KEPT = "relayout-explorer-{{version}}";
const FILES = JSON.parse('{{files}}');

// The browser's own cache may have files of an older site: it asks whether they are still the same.
const asked = () => FILES.map((/** @type {string} */ name) => new Request(name, { cache: "no-cache" }));

self.addEventListener("install", (event) => event.waitUntil(caches.open(KEPT).then((kept) => kept.addAll(asked()))));

self.addEventListener("activate", (event) => {
  const old = (name) => name.startsWith("relayout-explorer-") && name !== KEPT;
  const forget = async () => Promise.all((await caches.keys()).filter(old).map((name) => caches.delete(name)));
  event.waitUntil(forget().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(caches.match(event.request, { ignoreSearch: true, cacheName: KEPT }).then((kept) => kept ?? fetch(event.request)));
});
