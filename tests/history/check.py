"""From what clients wrote and read to the dependencies between transactions, and from these to the anomalies, by name.

The idea is Adya's (Weak Consistency, 1999), the way to it Elle's (Kingsbury and Alvaro, 2020). Transactions append numbers,
each used once, to lists. A list that was read tells in which order its writers came: each depends on the one before (ww),
the reader on the last it saw (wr), and the writer of the next on the reader, who did not see it (rw). A cycle of dependencies is
an anomaly:

    G0          only ww                               dirty write
    G1c         ww and wr                             circular information flow
    read skew   one rw, closed by a read (wr)         one view shows two moments, or is older than a write before it
    G-single    one rw, closed by a write (ww)        a write upon a state that the transaction has not seen
    G2          more than one rw                      write skew, phantoms

Beside cycles: G1a (a read of what was rolled back), G1b (a read of what its writer wrote over), a lost write (acknowledged, and not there
in the end), half a transaction, a stale read (begun after a commit was acknowledged, and blind to it), an unread own write.

What each level forbids is what InnoDB promises: READ UNCOMMITTED that writes are not lost or mixed up, READ COMMITTED no G1,
REPEATABLE READ in addition that plain reads belong to one moment, while writes work on the newest row: G-single happens.
Snapshot isolation forbids that too, SERIALIZABLE every cycle.

Cost: the graph without rw edges has no cycle (or G1c is the finding), so it has an order, and transactions come in it nearly as they came in
time. A path that closes an rw edge lies between that edge's two ends in this order, and these are close together.
"""
import heapq
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

COMMITTED, ABORTED, UNKNOWN = "ok", "aborted", "unknown"

ALWAYS = {"G0", "lost write", "half a transaction", "aborted write", "duplicate write", "own write unread"}
COMMITTED_READS = ALWAYS | {"G1a", "G1b", "G1c", "stale read", "torn statement"}
ONE_VIEW = COMMITTED_READS | {"read skew"}
SNAPSHOT = ONE_VIEW | {"G-single", "lost update"}
FORBIDDEN = {
    "READ UNCOMMITTED": ALWAYS,
    "READ COMMITTED": COMMITTED_READS,
    "REPEATABLE READ": ONE_VIEW,
    "SNAPSHOT ISOLATION": SNAPSHOT,
    "SERIALIZABLE": SNAPSHOT | {"G2"},
}
EXAMPLES_MAX = 3


@dataclass(slots=True)
class Transaction:
    """What one client did. `operations`: ("append", key, number) and ("read", key, the list as text), as they came."""
    name: str
    status: str
    operations: list[tuple]
    begun: float = 0.0
    ended: float = 0.0

    def __str__(self) -> str:
        done = "; ".join(f"{what} {key}: {value or 'nothing'}" for what, key, value in self.operations)
        return f"{self.name} ({self.status}): {done}"


@dataclass
class Findings:
    """Anomalies by name: how often, and a few in full."""
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, text: str) -> None:
        self.counts[name] += 1
        if len(self.examples[name]) < EXAMPLES_MAX:
            self.examples[name].append(text)

    def forbidden(self, level: str) -> list[str]:
        return sorted(name for name in self.counts if name in FORBIDDEN[level])

    def summary(self) -> str:
        return ", ".join(f"{name} ×{count}" for name, count in sorted(self.counts.items())) or "no anomaly"


class History:
    """A history of appends and the lists as they are in the end."""

    def __init__(self, transactions: list[Transaction], final: dict[int, str], dirty: bool):
        self.findings = Findings()
        self.writers: dict[int, int] = {}
        for at, transaction in enumerate(transactions):
            for what, _, value in transaction.operations:
                if what == "append":
                    self.writers[value] = at
        self.transactions, self.dirty, self.final = transactions, dirty, final
        self.order = {key: [int(n) for n in text.split(",")] for key, text in final.items() if text}
        self.position = {number: at for numbers in self.order.values() for at, number in enumerate(numbers)}
        self.edges: list[dict[int, dict[str, int]]] = [{} for _ in transactions]       # to → kind → key

    def check(self) -> Findings:
        self.check_writes()
        self.add_write_order()
        for at in range(len(self.transactions)):
            self.look_at_reads(at)
        if not self.dirty:
            self.check_freshness()
        self.find_cycles()
        return self.findings

    # ------------------------------------------------------------------------------------------- dependencies

    def is_committed(self, at: int) -> bool:
        transaction = self.transactions[at]
        return transaction.status == COMMITTED or transaction.status == UNKNOWN and any(
            what == "append" and value in self.position for what, _, value in transaction.operations)

    def check_writes(self) -> None:
        for key, numbers in self.order.items():
            if len(set(numbers)) != len(numbers):
                self.findings.add("duplicate write", f"list {key} in the end: {self.final[key]}")
            for number in numbers:
                writer = self.writers.get(number)
                if writer is None or self.transactions[writer].status == ABORTED:
                    self.findings.add("aborted write", f"{number} is in list {key} in the end; {self.transactions[writer] if writer is not None else 'nobody wrote it'}")
        for transaction in self.transactions:
            appended = [value for what, _, value in transaction.operations if what == "append"]
            there = sum(value in self.position for value in appended)
            if there < len(appended) and transaction.status == COMMITTED:
                self.findings.add("lost write", str(transaction))
            elif 0 < there < len(appended) and transaction.status == UNKNOWN:
                self.findings.add("half a transaction", str(transaction))

    def depend(self, before: int, after: int, kind: str, key: int) -> None:
        if before != after:
            self.edges[before].setdefault(after, {}).setdefault(kind, key)

    def add_write_order(self) -> None:
        for key, numbers in self.order.items():
            writers = [self.writers[number] for number in numbers if number in self.writers]
            for before, after in zip(writers, writers[1:]):
                self.depend(before, after, "ww", key)

    def look_at_reads(self, at: int) -> None:
        transaction = self.transactions[at]
        own: dict[int, list[str]] = defaultdict(list)
        for what, key, value in transaction.operations:
            if what == "append":
                own[key].append(str(value))
                continue
            if key in own:
                expected = ",".join(own[key])
                if value != expected and not value.endswith("," + expected):
                    self.findings.add("own write unread", str(transaction))
            elif not self.dirty:
                self.read(at, key, value)

    def read(self, at: int, key: int, text: str) -> None:
        """A read of a list that the transaction itself had not yet appended to."""
        transaction, order = self.transactions[at], self.order.get(key, [])
        final = self.final.get(key, "")
        if text and text != final and not final.startswith(text + ","):
            strangers = [n for n in map(int, text.split(",")) if n not in self.position]
            fates = {self.transactions[self.writers[n]].status for n in strangers if n in self.writers}
            # Locks are released before a commit is durable, so a transaction may have met what a crash then took away; it
            # could not commit itself, for its own commit comes later in the log.
            if not fates or fates - {UNKNOWN} or transaction.status == COMMITTED:
                self.findings.add("G1a" if fates and COMMITTED not in fates else "lost write", f"{transaction}; list {key} in the end: {final}")
            return
        seen = text.count(",") + 1 if text else 0
        if not self.is_committed(at) and transaction.status != COMMITTED:
            return       # what a transaction read that did not commit is no dependency; that it read it is looked at above
        if seen:
            writer = self.writers.get(order[seen - 1])
            if writer is not None:
                if seen < len(order) and self.writers.get(order[seen]) == writer and writer != at:
                    self.findings.add("G1b", f"{transaction} read of {self.transactions[writer]}")
                    return
                self.depend(writer, at, "wr", key)
        if seen < len(order) and (follower := self.writers.get(order[seen])) is not None:
            self.depend(at, follower, "rw", key)

    def check_freshness(self) -> None:
        """A transaction that begins after a commit was acknowledged sees it, as the clients' common clock has it."""
        acknowledged: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for transaction in self.transactions:
            if transaction.status == COMMITTED:
                for what, key, value in transaction.operations:
                    if what == "append" and value in self.position:
                        acknowledged[key].append((transaction.ended, self.position[value] + 1))
        known = {}
        for key, commits in acknowledged.items():
            commits.sort()
            longest, lengths = 0, []
            for _, length in commits:
                longest = max(longest, length)
                lengths.append(longest)
            known[key] = ([ended for ended, _ in commits], lengths)
        for transaction in self.transactions:
            own = set()
            for what, key, value in transaction.operations:
                if what == "append":
                    own.add(key)
                elif key in known and key not in own:
                    before = bisect_right(known[key][0], transaction.begun)
                    seen = value.count(",") + 1 if value else 0
                    if before and seen < known[key][1][before - 1]:
                        self.findings.add("stale read", f"{transaction}; acknowledged before: {self.final[key]}")

    # ------------------------------------------------------------------------------------------------- cycles

    def find_cycles(self) -> None:
        writes = [[to for to, kinds in edges.items() if "ww" in kinds] for edges in self.edges]
        mixed = [component for component in components(writes) if self.report("G0", component, {"ww"})]
        if mixed or self.dirty:
            return
        flow = [[to for to, kinds in edges.items() if "ww" in kinds or "wr" in kinds] for edges in self.edges]
        circular = [component for component in components(flow) if self.report("G1c", component, {"ww", "wr"})]
        if circular:
            return
        explained = self.find_single(flow)
        for component in components([list(edges) for edges in self.edges]):
            if not explained.intersection(component):
                self.report("G2", component, {"ww", "wr", "rw"})

    def report(self, name: str, component: list[int], kinds: set[str]) -> bool:
        """Adds a shortest cycle through the component's first transaction."""
        self.findings.add(name, self.describe(self.shortest_cycle(component, kinds)))
        return True

    def shortest_cycle(self, component: list[int], kinds: set[str]) -> list[int]:
        inside, start = set(component), component[0]
        came_from, queue = {start: start}, [start]
        for at in queue:
            for to, found in self.edges[at].items():
                if to == start and kinds & found.keys():
                    path = [at]
                    while path[-1] != start:
                        path.append(came_from[path[-1]])
                    return path[::-1]
                if to in inside and to not in came_from and kinds & found.keys():
                    came_from[to] = at
                    queue.append(to)
        raise AssertionError("a component without a cycle")

    def find_single(self, flow: list[list[int]]) -> set[int]:
        """Cycles of one rw edge; returns the transactions in them."""
        rank, explained = ranks(flow, [t.ended for t in self.transactions]), set()
        for reader, edges in enumerate(self.edges):
            for writer, kinds in edges.items():
                if "rw" not in kinds or rank[writer] > rank[reader]:
                    continue
                came_from, queue = {writer: writer}, [writer]
                closing: dict[str, list[int]] = {}
                for at in queue:
                    for to in flow[at]:
                        if to == reader:
                            closing.setdefault(self.closes(at, reader), self.path(came_from, at))
                        elif rank[to] < rank[reader] and to not in came_from:
                            came_from[to] = at
                            queue.append(to)
                if closing:
                    name = "read skew" if "read skew" in closing else "G-single"
                    path = closing[name]
                    self.findings.add(name, self.describe([reader, *path]))
                    explained.update([reader, *path])
        return explained

    def closes(self, writer: int, reader: int) -> str:
        """Whether `reader` has read of `writer`, or written upon it before its first read, when it had no view."""
        kinds, operations = self.edges[writer][reader], self.transactions[reader].operations
        if "wr" in kinds:
            return "read skew"
        first = next(at for at, (what, key, _) in enumerate(operations) if what == "append" and key == kinds["ww"])
        return "G-single" if any(what == "read" for what, _, _ in operations[:first]) else "read skew"

    @staticmethod
    def path(came_from: dict[int, int], at: int) -> list[int]:
        path = [at]
        while came_from[path[-1]] != path[-1]:
            path.append(came_from[path[-1]])
        return path[::-1]

    def describe(self, cycle: list[int]) -> str:
        steps = []
        for at, to in zip(cycle, cycle[1:] + cycle[:1]):
            kinds = "/".join(f"{kind} {key}" for kind, key in self.edges[at][to].items())
            steps.append(f"{self.transactions[at].name} -{kinds}→ {self.transactions[to].name}")
        return "\n        ".join([", ".join(steps), *(str(self.transactions[at]) for at in cycle)])


def components(graph: list[list[int]]) -> list[list[int]]:
    """The strongly connected components of more than one node (Tarjan, without recursion)."""
    index, low = [0] * len(graph), [0] * len(graph)
    on_stack, stack, found, counter = bytearray(len(graph)), [], [], 0
    for root in range(len(graph)):
        if index[root] or not graph[root]:
            continue
        work = [(root, iter(graph[root]))]
        counter += 1
        index[root] = low[root] = counter
        stack.append(root)
        on_stack[root] = 1
        while work:
            at, following = work[-1]
            for to in following:
                if not index[to]:
                    counter += 1
                    index[to] = low[to] = counter
                    stack.append(to)
                    on_stack[to] = 1
                    work.append((to, iter(graph[to])))
                    break
                if on_stack[to]:
                    low[at] = min(low[at], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    component = []
                    while True:
                        component.append(stack.pop())
                        on_stack[component[-1]] = 0
                        if component[-1] == at:
                            break
                    if len(component) > 1:
                        found.append(sorted(component))
    return found


def ranks(graph: list[list[int]], time: list[float]) -> list[int]:
    """The place of each node in an order that follows the edges of an acyclic graph and, as far as they let it, time."""
    waiting_for = [0] * len(graph)
    for following in graph:
        for to in following:
            waiting_for[to] += 1
    ready = [(time[at], at) for at, count in enumerate(waiting_for) if not count]
    heapq.heapify(ready)
    rank = [0] * len(graph)
    for place in range(len(graph)):
        _, at = heapq.heappop(ready)
        rank[at] = place
        for to in graph[at]:
            waiting_for[to] -= 1
            if not waiting_for[to]:
                heapq.heappush(ready, (time[to], to))
    return rank


def check_registers(transactions: list[Transaction], final: dict[int, str]) -> Findings:
    """Registers that are read and then written over: two that read the same value and both wrote have lost an update."""
    findings, successors = Findings(), defaultdict(list)
    for transaction in transactions:
        if transaction.status != COMMITTED:
            continue
        read = {key: value for what, key, value in transaction.operations if what == "read"}
        for what, key, value in transaction.operations:
            if what == "write":
                successors[key, read[key]].append(transaction)
    for (key, value), followers in successors.items():
        if len(followers) > 1:
            findings.add("lost update", f"register {key} was {value}: " + "; ".join(map(str, followers)))
    written = {str(value): t for t in transactions for what, _, value in t.operations if what == "write"}
    for key, value in final.items():
        if value in written and written[value].status == ABORTED:
            findings.add("aborted write", f"register {key} is {value} in the end; {written[value]}")
    return findings


def check_bank(transactions: list[Transaction], accounts: int, total: int, final_total: int) -> Findings:
    """Money is moved and never made: who reads all accounts sees the total, in one statement or in one view."""
    findings = Findings()
    for transaction in transactions:
        for what, _, value in transaction.operations:
            if what == "sum" and value != total:
                findings.add("torn statement", f"{transaction}; the total is {total}")
        balances = [value for what, _, value in transaction.operations if what == "balance"]
        if len(balances) == accounts and sum(balances) != total:
            findings.add("read skew", f"{transaction}; they are {sum(balances)}, the total is {total}")
    if final_total != total:
        findings.add("lost write", f"the total was {total} and is {final_total} in the end")
    return findings
