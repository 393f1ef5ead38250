// Answers that are not sent yet, in the browser's database. It has room for masks, and writes within milliseconds, so
// that answers survive a browser that is killed. No prediction is ever among them.

const DATABASE = "demur-answers";
const TABLE = "answers";
const TAB = `demur-tab-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;

let open = null; // resolves once this tab's lock is held, which ends with the tab

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

async function openDatabase() {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
  return done(request);
}

/** Names of the tabs that are open, which send their answers themselves; null where the browser cannot tell. */
async function openTabs() {
  if (!navigator.locks) return null;
  open ||= new Promise((held) => { navigator.locks.request(TAB, () => { held(); return new Promise(() => {}); }); });
  await open;
  return new Set((await navigator.locks.query()).held.map((lock) => lock.name));
}

export class KeptAnswers {
  /** Read what a reviewer has not sent, except the answers of other open tabs. */
  static async open(reviewer) {
    try {
      const database = await openDatabase();
      const tabs = await openTabs();
      const range = IDBKeyRange.bound([reviewer], [reviewer, []]);
      const rows = await done(database.transaction(TABLE).objectStore(TABLE).getAll(range));
      const orphans = rows.filter((row) => !tabs || row.tab === TAB || !tabs.has(row.tab));
      return new KeptAnswers(reviewer, database, orphans.map((row) => row.entry));
    } catch {
      return new KeptAnswers(reviewer, null, []);
    }
  }

  constructor(reviewer, database, entries) {
    Object.assign(this, { reviewer, database, entries });
  }

  /** Write an answer; resolves to false where the browser keeps nothing. */
  async put(entry) {
    return this.change((table) => table.put({ tab: TAB, entry }, [this.reviewer, entry.id]));
  }

  async remove(id) {
    return this.change((table) => table.delete([this.reviewer, id]));
  }

  async change(make) {
    if (!this.database) return false;
    try {
      const transaction = this.database.transaction(TABLE, "readwrite", { durability: "strict" });
      make(transaction.objectStore(TABLE));
      await new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error);
      });
      return true;
    } catch {
      return false;
    }
  }
}
