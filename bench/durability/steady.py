"""oltp_write_only by 16 clients for ten minutes: the latency that one transaction in a thousand exceeds, and the worst second.

The log holds 1 GB, so several checkpoints pass; one that made writers wait would show as a second without commits.
"""
import re
from statistics import median, pstdev

from sides import Side
from tidemark import tidemark

TABLES, CLIENTS = 8, 16


def run(report, peer: Side | None, options) -> None:
    rows, seconds = (20_000, 20) if options.short else (500_000, 600)
    tables = [f"--tables={TABLES}", f"--table-size={rows}"]
    with tidemark("steady", "--innodb-redo-log-capacity=1G", pool_mb=2000) as own:
        sides = [own, *([peer] if peer else [])]
        found = {}
        for side in sides:
            side.fresh_database()
            side.sysbench("oltp_write_only", "prepare", *tables, "--threads=2")
            before = side.log_end()
            output = side.sysbench("oltp_write_only", "run", *tables, f"--threads={CLIENTS}", f"--time={seconds}", "--events=0",
                                   "--report-interval=1", "--percentile=99", "--histogram")
            written = side.log_end() - before
            found[side.name] = figures(output)
            report.note(f"{side.name}: {shown(found[side.name])}; {written / 1e9:.1f} GB of log")
            side.drop_database()
        if peer:
            own_of, peer_of = found[own.name], found[peer.name]
            report.check(own_of["p99.9"] <= peer_of["p99.9"], "p999", f"p99.9 {own_of['p99.9']:.1f} ms, {peer_of['p99.9']:.1f} ms")
            report.check(own_of["worst_rate"] >= peer_of["worst_rate"], "worst_second",
                         f"fewest commits in a second {own_of['worst_rate']:.0f}, {peer_of['worst_rate']:.0f}")
            report.check(own_of["spread"] <= peer_of["spread"], "spread",
                         f"deviation of the seconds' rates ÷ median {own_of['spread']:.3f}, {peer_of['spread']:.3f}")


def figures(output: str) -> dict[str, float]:
    rates = [float(rate) for rate in re.findall(r"tps: ([\d.]+)", output)]
    seconds = [float(latency) for latency in re.findall(r"lat \(ms,99%\): ([\d.]+)", output)]
    histogram = [(float(latency), int(count)) for latency, count in re.findall(r"^\s+([\d.]+) \|[* ]+ (\d+)$", output, re.MULTILINE)]
    rates, seconds = rates[1:], seconds[1:]     # the first second starts the clients
    return {
        "rate": median(rates),
        "worst_rate": min(rates),
        "spread": pstdev(rates) / median(rates),
        "p99.9": quantile(histogram, 0.999),
        "worst_p99": max(seconds),
        "max": float(re.search(r"max:\s+([\d.]+)", output)[1]),
    }


def quantile(histogram: list[tuple[float, int]], share: float) -> float:
    """The latency, ms, that this share of the transactions does not exceed; sysbench knows whole percents alone."""
    left = share * sum(count for _, count in histogram)
    for latency, count in histogram:
        left -= count
        if left <= 0:
            return latency
    raise ValueError("sysbench has printed no histogram")


def shown(of: dict[str, float]) -> str:
    return (f"{of['rate']:.0f} transactions a second (median), worst second {of['worst_rate']:.0f}, spread {of['spread']:.3f}, "
            f"p99.9 {of['p99.9']:.1f} ms, p99 of the worst second {of['worst_p99']:.1f} ms, longest {of['max']:.1f} ms")
