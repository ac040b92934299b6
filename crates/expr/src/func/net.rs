//! Internet addresses: as texts, as numbers, as bytes.
//!
//! The standard library reads IPv6 but is stricter than MySQL about an IPv4 address (`01.2.3.4`), so that part is read here;
//! and MySQL writes IPv6 in its own way: a single group of zeros is shortened too.

use super::*;
use std::fmt::Write;
use std::net::Ipv6Addr;
use tidemark_types::Collation;

/// The groups of an IPv6 address.
const GROUPS: usize = 8;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "inet_aton",
        (1, 1),
        |args, bind| Ok(nullable_int(args, bind)?.unsigned()),
        |args, _, ctx| {
            let written = known!(text(&args[0], ctx)?);
            let address = inet_aton(&written);
            if address.is_none() {
                complain_of("string", &args[0], "inet_aton", ctx)?;
            }
            Ok(address.map_or(Val::Null, Val::UInt))
        },
    ),
    def(
        "inet_ntoa",
        (1, 1),
        |_, bind| Ok(server_text(31, true, bind)),
        |args, _, ctx| {
            let n = known!(int(&args[0], ctx)?);
            let Ok(n) = u32::try_from(n) else {
                complain_of("integer", &args[0], "inet_ntoa", ctx)?;
                return Ok(Val::Null);
            };
            Ok(Val::string(std::net::Ipv4Addr::from(n).to_string()))
        },
    )
    .takes(&[ParamKind::Int(false)]),
    def(
        "inet6_aton",
        (1, 1),
        |args, bind| {
            textual(args, bind);
            Ok(SqlType::varchar(16, Collation::BINARY).with_nullable(true))
        },
        |args, _, ctx| {
            let written = known!(text(&args[0], ctx)?);
            if let Some(address) = ipv4(&written) {
                return Ok(Val::str(&address).into_owned());
            }
            match ipv6(&written) {
                Some(address) => Ok(Val::str(&address.octets()).into_owned()),
                None => {
                    complain_of("string", &args[0], "inet6_aton", ctx)?;
                    Ok(Val::Null)
                }
            }
        },
    ),
    def(
        "inet6_ntoa",
        (1, 1),
        |args, bind| address_text(args, 39, bind),
        |args, _, ctx| {
            let bytes = known!(text(&args[0], ctx)?);
            if let Ok(octets) = <[u8; 4]>::try_from(&*bytes) {
                return Ok(Val::string(std::net::Ipv4Addr::from(octets).to_string()));
            }
            match <[u8; 16]>::try_from(&*bytes) {
                Ok(octets) => Ok(Val::string(shown(&Ipv6Addr::from(octets)))),
                Err(_) => {
                    complain_of("string", &args[0], "inet6_ntoa", ctx)?;
                    Ok(Val::Null)
                }
            }
        },
    ),
    def("is_ipv4", (1, 1), flag, |args, _, ctx| {
        Ok(Val::bool(ipv4(&known!(text(&args[0], ctx)?)).is_some()))
    }),
    def("is_ipv6", (1, 1), flag, |args, _, ctx| {
        Ok(Val::bool(ipv6(&known!(text(&args[0], ctx)?)).is_some()))
    }),
    def("is_ipv4_compat", (1, 1), flag, |args, _, ctx| {
        let bytes = known!(text(&args[0], ctx)?);
        let groups = <[u8; 16]>::try_from(&*bytes).map(|octets| Ipv6Addr::from(octets).segments());
        // `::` and `::1` are addresses of their own.
        Ok(Val::bool(
            groups.is_ok_and(|g| g[..6] == [0; 6] && (g[6] != 0 || g[7] > 1)),
        ))
    }),
    def("is_ipv4_mapped", (1, 1), flag, |args, _, ctx| {
        let bytes = known!(text(&args[0], ctx)?);
        let groups = <[u8; 16]>::try_from(&*bytes).map(|octets| Ipv6Addr::from(octets).segments());
        Ok(Val::bool(groups.is_ok_and(|g| g[..6] == [0, 0, 0, 0, 0, 0xFFFF])))
    }),
];

fn flag(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    Ok(SqlType::boolean().with_nullable(any_nullable(args)))
}

fn address_text(args: &mut Vec<Expr>, length: u64, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    Ok(server_text(length, true, bind))
}

/// Short forms leave out the middle: `127.1` is 127.0.0.1.
fn inet_aton(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let parts = text
        .split('.')
        .map(|p| p.parse::<u8>().ok())
        .collect::<Option<Vec<u8>>>()?;
    if parts.is_empty() || parts.len() > 4 {
        return None;
    }
    let (last, first) = parts.split_last()?;
    let high = (0..3).fold(0u64, |n, i| n << 8 | first.get(i).copied().unwrap_or(0) as u64);
    Some(high << 8 | *last as u64)
}

/// Four numbers of one to three digits.
fn ipv4(text: &[u8]) -> Option<[u8; 4]> {
    let mut octets = [0; 4];
    let mut parts = text.split(|b| *b == b'.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || part.len() > 3 || !part.iter().all(u8::is_ascii_digit) {
            return None;
        }
        *octet = std::str::from_utf8(part).ok()?.parse().ok()?;
    }
    parts.next().is_none().then_some(octets)
}

/// Eight groups, of which some may be left out, and the last two be written as an IPv4 address.
fn ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    let text = std::str::from_utf8(text).ok()?;
    let Some(at) = text.rfind(':').filter(|at| text[*at..].contains('.')) else {
        return text.parse().ok();
    };
    let [a, b, c, d] = ipv4(&text.as_bytes()[at + 1..])?;
    format!("{}:{a:x}{b:02x}:{c:x}{d:02x}", &text[..at]).parse().ok()
}

fn shown(address: &Ipv6Addr) -> String {
    let groups = address.segments();
    // The longest run of zeros, the first of several.
    let (mut start, mut length) = (GROUPS, 0);
    let mut at = 0;
    while at < GROUPS {
        let zeros = groups[at..].iter().take_while(|group| **group == 0).count();
        if zeros > length {
            (start, length) = (at, zeros);
        }
        at += zeros.max(1);
    }
    let mut shown = String::new();
    let holds_ipv4 = start == 0 && (length == 6 || length == 5 && groups[5] == 0xFFFF);
    at = 0;
    while at < GROUPS {
        if at == start {
            shown.push_str(if at == 0 { "::" } else { ":" });
            at += length;
            continue;
        }
        if holds_ipv4 && at == 6 {
            let octets = address.octets();
            let _ = write!(
                shown,
                "{}.{}.{}.{}",
                octets[12], octets[13], octets[14], octets[15]
            );
            break;
        }
        let _ = write!(shown, "{:x}", groups[at]);
        at += 1;
        if at < GROUPS {
            shown.push(':');
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_mysql_reads_them() {
        assert_eq!(inet_aton(b"127.1"), Some(2_130_706_433));
        assert_eq!(ipv4(b"001.02.3.255"), Some([1, 2, 3, 255]));
        for none in [
            "",
            "1.2.3",
            "1.2.3.4.5",
            "1.2.3.256",
            "0001.2.3.4",
            "1.2..3",
            "+1.2.3.4",
        ] {
            assert_eq!(ipv4(none.as_bytes()), None, "{none}");
        }
        assert_eq!(ipv6(b"::ffff:01.2.3.4"), ipv6(b"::FFFF:102:304"));
        for none in [
            "", "1::2::3", "::1%eth0", "1.2.3.4", ":1.2.3.4", "::1.2.3", "12345::",
        ] {
            assert_eq!(ipv6(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn addresses_are_written_as_mysql_writes_them() {
        for written in [
            "::",
            "::1",
            "1:0:0:2::3",
            "1::2:0:3:0:4:0",
            "0:0:1::",
            "::0.1.0.2",
            "::ffff",
            "::ffff:1.2.3.4",
            "1:2:3:4:5:6:7:8",
        ] {
            assert_eq!(shown(&ipv6(written.as_bytes()).expect("an address")), written);
        }
    }
}
