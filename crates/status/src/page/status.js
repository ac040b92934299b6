"use strict";
/* The page: each event is one sample, of which each panel draws its part. */

(() => {
  const SECONDS = 60;           // that a chart shows
  const points = [];            // {at, rates}, the latest last

  const number = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const count = (value) => (value >= 10000 ? short : number).format(value);

  function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let at = 0;
    while (value >= 1024 && at < units.length - 1) { value /= 1024; at++; }
    return `${number.format(value)} ${units[at]}`;
  }

  function micros(value) {
    if (value >= 1e6) return `${number.format(value / 1e6)} s`;
    if (value >= 1e3) return `${number.format(value / 1e3)} ms`;
    return `${number.format(value)} µs`;
  }

  function age(seconds) {
    if (seconds < 60) return `${seconds} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
  }

  const series = (of) => points.map((point) => ({ at: point.at, values: of(point.rates) }));
  const empty = (text) => [Charts.element("p", "empty", text)];
  const perSecond = (value) => `${count(value)}/s`;
  const seconds = (value) => `${number.format(value)} s/s`;

  function throughput() {
    const names = ["statements", "transactions", "writes committed", "rollbacks"];
    const of = (rates) => [rates.statements, rates.transactions, rates.writes, rates.rollbacks];
    return Charts.lines("Statements and transactions a second", names, series(of), SECONDS, perSecond);
  }

  function latency() {
    const names = ["median", "95 %", "99 %", "commit 99 %"];
    const of = (rates) => [rates.latency.p50, rates.latency.p95, rates.latency.p99, rates.commit.p99];
    return Charts.lines("Latency by quantile", names, series(of), SECONDS, micros);
  }

  let shown = [];
  function waits() {
    /* Those that took most in what is shown, and all others as one. What stays keeps its place, and with it its colour. */
    const sums = new Map();
    for (const { rates } of points) {
      for (const [name, spent] of Object.entries(rates.waits)) sums.set(name, (sums.get(name) || 0) + spent);
    }
    const order = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    const top = order.slice(0, 7), others = order.slice(7);
    shown = [...shown.filter((name) => top.includes(name)), ...top.filter((name) => !shown.includes(name))];
    const of = (rates) => [...shown.map((name) => rates.waits[name]), others.reduce((sum, name) => sum + rates.waits[name], 0)];
    const names = [...shown.map((name) => name.replace(/_/g, " ")), "others"];
    return Charts.stack("Seconds waited a second, by what was waited for", names, series(of), SECONDS, seconds);
  }

  function blocking(sample) {
    const edges = sample.waits.list.filter((wait) => wait.blocker !== null).slice(0, 24);
    if (!edges.length) return empty("Nobody waits for a lock.");
    const sessions = new Map(sample.sessions.list.map((session) => [session.id, session]));
    const waiters = new Set(edges.map((edge) => edge.waiter));
    const ids = [...new Set(edges.flatMap((edge) => [edge.blocker, edge.waiter]))];
    const nodes = ids.map((id) => {
      const session = sessions.get(id);
      const doing = session ? session.statement || `${session.command}, ${age(session.time_s)}` : "";
      return { id, lines: [`${id} ${session ? session.user : ""}`, doing], kind: waiters.has(id) ? "waiter" : "holder" };
    });
    const arrows = edges.map((edge) => ({ from: edge.waiter, to: edge.blocker, text: `${micros(edge.ms * 1000)} ${edge.lock}` }));
    const more = sample.waits.count - edges.length;
    const drawn = [Charts.graph("Sessions and those they wait for", nodes, arrows)];
    return more > 0 ? [...drawn, ...empty(`and ${more} waits more`)] : drawn;
  }

  function sessions(sample) {
    const { list, count: all, running } = sample.sessions;
    const rows = list.map((session) => {
      const waits = session.waits_for && `${session.waits_for}${session.waits_for_session ? `, has ${session.waits_for_session}` : ""}`;
      const row = [session.id, session.user, session.db, `${session.command} ${session.doing}`.trim(), age(session.time_s),
                   session.statement, waits];
      row.waits = Boolean(waits);
      return row;
    });
    const columns = [["id", true], ["user"], ["database"], ["command"], ["time", true], ["statement", "text"], ["waits for", "text"]];
    const head = Charts.element("p", "empty", `${all} sessions, ${running} running`);
    return rows.length ? [head, Charts.table(columns, rows)] : [head];
  }

  const loads = new Map();      // by digest: what it took a second, the latest last
  function statements(sample) {
    const known = new Set(sample.statements.map((statement) => statement.id));
    for (const id of loads.keys()) if (!known.has(id)) loads.delete(id);
    const rows = sample.statements.map((statement) => {
      const load = loads.get(statement.id) || [];
      loads.set(statement.id, [...load, statement.load].slice(-SECONDS));
      return [statement.text ?? "(all others)", statement.db, Charts.spark(loads.get(statement.id), SECONDS), seconds(statement.load), perSecond(statement.rate),
              count(statement.count), micros(statement.mean_us), micros(statement.p95_us), count(statement.examined), count(statement.errors)];
    });
    if (!rows.length) return empty("No statement has been executed.");
    const columns = [["statement", "text"], ["database"], ["last minute"], ["takes", true], ["rate", true], ["executed", true], ["mean", true], ["95 %", true],
                     ["rows read", true], ["errors", true]];
    return [Charts.table(columns, rows)];
  }

  function views(sample) {
    const { list, count: all } = sample.views;
    if (!list.length) return empty("No snapshot is open.");
    const rows = list.map((view) => [view.id, view.user, age(view.age_s), view.opened_by, view.idle ? "idle" : "running",
      bytes(view.behind), view.versions === null ? null : count(view.versions), view.bytes === null ? null : bytes(view.bytes)]);
    const columns = [["session", true], ["user"], ["age", true], ["opened by", "text"], ["session is"], ["log since", true],
                     ["versions kept for it", true], ["bytes", true]];
    const table = Charts.table(columns, rows);
    return all > list.length ? [table, ...empty(`and ${all - list.length} more`)] : [table];
  }

  function pairs(list) {
    return Charts.table([["figure"], ["value", true]], list);
  }

  function history(sample) {
    const of = sample.history;
    return [pairs([
      ["transactions not purged", count(of.transactions)],
      ["the first ended", `${age(of.age_s)} ago`],
      ["old versions", bytes(of.bytes)],
      ["longest chain", `${count(of.longest_chain)} versions`],
      ["deleted entries buried for old views", count(of.buried)],
      ["transactions that have written", count(of.writers)],
      ["oldest snapshot", sample.views.list.length ? age(sample.views.list[0].age_s) : "none"],
    ])];
  }

  function hot(sample) {
    const { rows, tables } = sample.hot;
    if (!rows.length && !tables.length) return empty("No row changes often.");
    return [
      Charts.table([["row", "text"], ["changes", true], ["versions", true]],
        rows.map((row) => [`${row.table} (${row.key ?? "?"})`, count(row.updates), count(row.versions)])),
      Charts.table([["table", "text"], ["changes", true], ["waiting now", true]],
        tables.map((table) => [table.table, count(table.updates), count(table.waits)])),
    ];
  }

  function storage(sample) {
    const { pool, log, rates } = sample;
    return [
      ...Charts.bar("Buffer pool", [["clean", pool.clean], ["dirty", pool.dirty], ["free", pool.free]], bytes),
      pairs([
        ["pages read and written", `${perSecond(rates.pages_read)}, ${perSecond(rates.pages_written)}`],
        ["log written", `${bytes(rates.log_bytes)}/s`],
        ["log synced", perSecond(rates.log_syncs)],
        ["log not on disk yet", bytes(log.unflushed)],
        ["log since the checkpoint", bytes(log.since_checkpoint)],
        ["log kept", bytes(log.kept)],
        ["data file, of it free", `${bytes(pool.data_bytes)}, ${bytes(pool.data_free)}`],
      ]),
    ];
  }

  let drawnDeadlock = null;
  function deadlock(sample) {
    const found = sample.deadlock;
    if (!found) return empty("None since the start.");
    if (drawnDeadlock === found.at_ms) return null;
    drawnDeadlock = found.at_ms;
    const nodes = found.members.map((member, at) => ({
      id: at,
      lines: [`${member.id ?? "?"} ${member.user ?? ""}${member.victim ? " (rolled back)" : ""}`, member.statement || "",
              ...member.holds.map((lock) => `holds ${lock}`)],
      kind: member.victim ? "waiter victim" : "waiter",
    }));
    const all = found.members.length;
    const edges = found.members.map((member, at) => ({ from: at, to: (at + 1) % all, text: member.waits_for }));
    const rows = found.members.map((member) => {
      const row = [member.id, member.victim ? "rolled back" : "went on", member.statement, member.holds.join("; "), member.waits_for];
      row.waits = member.victim;
      return row;
    });
    const columns = [["session", true], ["outcome"], ["statement", "text"], ["holds", "text"], ["waits for", "text"]];
    return [
      Charts.element("p", "empty", new Date(found.at_ms).toLocaleString()),
      Charts.graph("The circle of waits", nodes, edges),
      Charts.table(columns, rows),
    ];
  }

  const panels = { throughput, latency, waits, blocking, sessions, statements, views, history, hot, storage, deadlock };

  function draw(sample) {
    for (const [name, make] of Object.entries(panels)) {
      const body = document.querySelector(`#${name} .body`);
      const made = make(sample);
      if (made) body.replaceChildren(...made);
      body.dataset.filled = "yes";
    }
    const { rates, sessions: all } = sample;
    document.getElementById("summary").textContent =
      `${perSecond(rates.statements)} statements, ${perSecond(rates.transactions)} transactions, ${all.count} sessions, ${all.running} running`;
  }

  function add(at, rates) {
    points.push({ at, rates });
    while (points.length && points[0].at < at - SECONDS * 1000) points.shift();
  }

  const connection = document.getElementById("connection");
  function say(state, text) {
    if (connection.dataset.state !== state) {
      connection.dataset.state = state;
      connection.textContent = text;
    }
  }

  function listen() {
    const source = new EventSource("/events");
    source.addEventListener("past", (event) => {
      points.length = 0;
      for (const point of JSON.parse(event.data)) add(point.at_ms, point.rates);
    });
    source.addEventListener("sample", (event) => {
      const sample = JSON.parse(event.data);
      say("live", "live");
      add(sample.at_ms, sample.rates);
      draw(sample);
    });
    source.addEventListener("error", () => {
      say("lost", "connection lost");
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
    });
    return source;
  }

  /* A page that nobody sees asks for nothing. */
  let source = listen();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source.close();
    } else if (source.readyState === EventSource.CLOSED) {
      source = listen();
    }
  });

  /* A click on a panel opens its SQL; the keyboard has the summary for that. */
  for (const body of document.querySelectorAll(".panel .body")) {
    body.addEventListener("click", () => {
      if (String(getSelection())) return;
      const details = body.parentElement.querySelector("details");
      details.open = !details.open;
    });
  }
})();
