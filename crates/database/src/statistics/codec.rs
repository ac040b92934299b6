//! Statistics as bytes in the catalog: a version byte and fields in a fixed order, in the form of the definitions' codec. What another
//! version wrote, or does not decode, is left out, and gathered again.

use super::column::{ColumnStatistics, Common, End};
use super::{IndexStatistics, TableStatistics};
use crate::dictionary::codec::{Reader, Writer};
use crate::error::{Result, SqlError};
use tidemark_engine::TableId;

const VERSION: u8 = 1;

/// The statistics as bytes, without the number of their table.
pub(super) fn encode(statistics: &TableStatistics) -> Vec<u8> {
    let mut w = Writer::default();
    w.u8(VERSION);
    w.u64(statistics.updated_s);
    w.f64(statistics.rows);
    w.u64(statistics.sampled_leaves);
    w.bool(statistics.is_whole);
    w.u64(statistics.indexes.len() as u64);
    for index in &statistics.indexes {
        w.str(&index.name);
        w.u64(index.own_parts as u64);
        w.u64(index.columns.len() as u64);
        index.columns.iter().for_each(|column| w.str(column));
        w.u64(index.distinct.len() as u64);
        index.distinct.iter().for_each(|distinct| w.f64(*distinct));
        w.u64(index.sampled_leaves);
        w.u64(index.leaves);
        w.u64(index.pages);
    }
    w.u64(statistics.columns.len() as u64);
    for column in &statistics.columns {
        w.str(&column.name);
        w.sql_type(&column.ty);
        w.f64(column.nulls);
        // No column has a negative number of values.
        w.f64(column.distinct.unwrap_or(-1.0));
        w.f64(column.sampled);
        w.u64(column.common.len() as u64);
        for common in &column.common {
            w.bytes(&common.key);
            w.f64(common.share);
        }
        w.f64(column.rest);
        w.u64(column.ends.len() as u64);
        for end in &column.ends {
            w.bytes(&end.key);
            w.bool(end.place.is_some());
            end.place.into_iter().for_each(|place| w.f64(place));
        }
    }
    w.0
}

/// The statistics of a table from their bytes.
pub(super) fn decode(table: TableId, bytes: &[u8]) -> Result<TableStatistics> {
    let mut r = Reader::new(bytes, "statistics");
    match r.u8()? {
        VERSION => {}
        version => return Err(SqlError::unknown(format!("statistics of version {version}"))),
    }
    Ok(TableStatistics {
        table,
        updated_s: r.u64()?,
        rows: share_like(r.f64()?)?,
        sampled_leaves: r.u64()?,
        is_whole: r.bool()?,
        indexes: r.list(index)?,
        columns: r.list(column)?,
    })
}

fn index(r: &mut Reader) -> Result<IndexStatistics> {
    Ok(IndexStatistics {
        name: r.str()?,
        own_parts: r.u64()? as usize,
        columns: r.list(Reader::str)?,
        distinct: r.list(|r| share_like(r.f64()?))?,
        sampled_leaves: r.u64()?,
        leaves: r.u64()?,
        pages: r.u64()?,
    })
}

fn column(r: &mut Reader) -> Result<ColumnStatistics> {
    Ok(ColumnStatistics {
        name: r.str()?,
        ty: r.sql_type()?,
        nulls: share_like(r.f64()?)?,
        distinct: Some(r.f64()?).filter(|distinct| *distinct >= 0.0),
        sampled: share_like(r.f64()?)?,
        common: r.list(|r| {
            Ok(Common {
                key: r.bytes()?.to_vec(),
                share: share_like(r.f64()?)?,
            })
        })?,
        rest: share_like(r.f64()?)?,
        ends: r.list(|r| {
            Ok(End {
                key: r.bytes()?.to_vec(),
                place: match r.bool()? {
                    true => Some(r.f64()?),
                    false => None,
                },
            })
        })?,
    })
}

/// A number that can be reckoned with.
fn share_like(number: f64) -> Result<f64> {
    match number.is_finite() && number >= 0.0 {
        true => Ok(number),
        false => Err(SqlError::unknown("statistics with a number that is none")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::tests::of_values;
    use super::*;
    use crate::types::Val;
    use tidemark_testing::fuzz::Corpus;

    fn statistics() -> TableStatistics {
        let value = |row: i64| match row % 3 {
            0 => Val::Null,
            1 => Val::Int(5),
            _ => Val::Int(row),
        };
        TableStatistics {
            table: TableId(7),
            updated_s: 1_700_000_000,
            rows: 5000.0,
            sampled_leaves: 50,
            is_whole: true,
            indexes: vec![IndexStatistics {
                name: "PRIMARY".to_owned(),
                own_parts: 1,
                columns: vec!["id".to_owned()],
                distinct: vec![5000.0],
                sampled_leaves: 20,
                leaves: 50,
                pages: 51,
            }],
            columns: vec![of_values((0..5000).map(value), true)],
        }
    }

    #[test]
    fn what_is_stored_reads_back() {
        let statistics = statistics();
        assert_eq!(decode(TableId(7), &encode(&statistics)).unwrap(), statistics);
    }

    /// What is stored is read, or refused, whatever became of it.
    #[test]
    fn damaged_bytes_are_refused() {
        let corpus = Corpus::new("statistics").input(encode(&statistics()));
        corpus.play(20_000, |input| {
            let Ok(read) = decode(TableId(7), input) else {
                return;
            };
            for column in &read.columns {
                let shares = [
                    column.equal(&Val::Int(5)),
                    column.below(&Val::Int(7), true),
                    column.joined(column),
                ];
                assert!(
                    shares.iter().flatten().all(|share| share.is_finite()),
                    "{shares:?}"
                );
            }
        });
    }
}
