//! TPC-C's transactions at one level, then its consistency conditions (clause 3.3.2).
//!
//! A condition that does not hold is reported as an anomaly that no level promises to be possible: the transactions read with locks what
//! they change, so that all twelve hold at each level. After one that is broken the tables are made anew for the next cell.

use crate::client::Client;
use crate::experiments::{Scale, found, measure as measure_load};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::load::Spec;
use crate::load::tpcc::schema::{Size, distrust};
use crate::results::{Finding, Found};
use crate::server::Server;
use std::time::Duration;

/// What the conditions take, about.
pub(super) fn check_time(scale: &Scale) -> Duration {
    Duration::from_millis(scale.pick(500, 50_000))
}

/// What is wrong where a condition is broken, and a statement that counts where it is. `{delivered}` orders of each district are at first.
const CONDITIONS: [(&str, &str); 12] = [
    (
        "01: W_YTD is not the sum of D_YTD",
        "SELECT COUNT(*) FROM tpcc_warehouse WHERE w_ytd <> (SELECT SUM(d_ytd) FROM tpcc_district WHERE d_w_id = w_id)",
    ),
    (
        "02: D_NEXT_O_ID does not follow the last order",
        "SELECT COUNT(*) FROM tpcc_district \
         WHERE d_next_o_id - 1 <> (SELECT MAX(o_id) FROM tpcc_orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
            OR d_next_o_id - 1 <> COALESCE((SELECT MAX(no_o_id) FROM tpcc_new_orders WHERE no_w_id = d_w_id AND no_d_id = d_id), d_next_o_id - 1)",
    ),
    (
        "03: new orders have a gap",
        "SELECT COUNT(*) FROM (SELECT no_w_id FROM tpcc_new_orders GROUP BY no_w_id, no_d_id \
         HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) AS broken",
    ),
    (
        "04: a district's lines are not as many as its orders say",
        "SELECT COUNT(*) FROM tpcc_district \
         WHERE (SELECT SUM(o_ol_cnt) FROM tpcc_orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
            <> (SELECT COUNT(*) FROM tpcc_order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id)",
    ),
    (
        "05: an order without a carrier is not new, or one with a carrier is",
        "SELECT COUNT(*) FROM tpcc_orders LEFT JOIN tpcc_new_orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        "06: an order's lines are not as many as it says",
        "SELECT COUNT(*) FROM tpcc_orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS there FROM tpcc_order_line \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS counted ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE o_ol_cnt <> COALESCE(there, 0)",
    ),
    (
        "07: a line is delivered and its order is not, or the other way round",
        "SELECT COUNT(*) FROM tpcc_order_line LEFT JOIN tpcc_orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        "08: W_YTD is not the sum of the history",
        "SELECT COUNT(*) FROM tpcc_warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM tpcc_history GROUP BY h_w_id) AS sums \
         ON h_w_id = w_id WHERE w_ytd <> COALESCE(paid, 0)",
    ),
    (
        "09: D_YTD is not the sum of the history",
        "SELECT COUNT(*) FROM tpcc_district LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM tpcc_history \
         GROUP BY h_w_id, h_d_id) AS sums ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> COALESCE(paid, 0)",
    ),
    (
        "10: C_BALANCE is not what was delivered less what was paid",
        "SELECT COUNT(*) FROM tpcc_customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM tpcc_orders \
         JOIN tpcc_order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
         GROUP BY o_w_id, o_d_id, o_c_id) AS sums ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM tpcc_history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS payments \
         ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id WHERE c_balance <> COALESCE(delivered, 0) - COALESCE(paid, 0)",
    ),
    (
        "11: delivered orders are not as many as deliveries",
        "SELECT COUNT(*) FROM tpcc_district WHERE (SELECT COUNT(*) FROM tpcc_orders WHERE o_w_id = d_w_id AND o_d_id = d_id) \
         - (SELECT COUNT(*) FROM tpcc_new_orders WHERE no_w_id = d_w_id AND no_d_id = d_id) \
         <> {delivered} + (SELECT SUM(c_delivery_cnt) FROM tpcc_customer WHERE c_w_id = d_w_id AND c_d_id = d_id)",
    ),
    (
        "12: C_BALANCE and C_YTD_PAYMENT are not what was delivered",
        "SELECT COUNT(*) FROM tpcc_customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM tpcc_orders \
         JOIN tpcc_order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
         GROUP BY o_w_id, o_d_id, o_c_id) AS sums ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
         WHERE c_balance + c_ytd_payment <> COALESCE(delivered, 0)",
    ),
];

pub(super) fn measure(
    server: &Server,
    spec: &Spec,
    size: Size,
    scale: &Scale,
    interrupt: &Interrupt,
) -> Result<Found, Failure> {
    let measured = measure_load(server, spec, scale, interrupt);
    // What a load that failed has left is not to be trusted.
    let measured = match measured {
        Ok(measured) => measured,
        Err(why) => {
            let _ = distrust(server);
            return Err(why);
        }
    };
    let mut found = found(&measured);
    let broken = broken_conditions(server, size, interrupt)?;
    for (wrong, _) in CONDITIONS {
        let finding = Finding {
            possible: broken.contains(&wrong),
            promised_possible: false,
        };
        found.findings.insert(wrong.to_owned(), finding);
    }
    Ok(found)
}

/// What is wrong in the tables, which the next run then makes anew.
pub fn broken_conditions(
    server: &Server,
    size: Size,
    interrupt: &Interrupt,
) -> Result<Vec<&'static str>, Failure> {
    let mut client = server.connect()?;
    let mut broken = Vec::new();
    for (wrong, sql) in CONDITIONS {
        interrupt.check()?;
        if count(&mut client, sql, size)? > 0 {
            broken.push(wrong);
        }
    }
    if !broken.is_empty() {
        distrust(server)?;
    }
    Ok(broken)
}

fn count(client: &mut Client, sql: &str, size: Size) -> Result<u64, Failure> {
    let sql = sql.replace("{delivered}", &size.delivered().to_string());
    let rows = client.query(&sql)?;
    let value = rows.first().and_then(|row| row.first()?.as_deref());
    let value = value.and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
    value.ok_or_else(|| Failure::because("a condition of TPC-C has no count"))
}
