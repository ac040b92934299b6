//! Which clients count as one host where something is limited by host.
//!
//! A machine with IPv6 has a network of 2^64 addresses and may take any of them for each connection, so that a limit for each address is
//! none. All of a /64 are one host, as they are for mail servers and web servers. Accounts and `host_cache` know addresses, as in MySQL.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

const PREFIX: u128 = !0 << 64;

/// The first address of those that count as one host with this one.
pub fn host_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => Ipv6Addr::from_bits(ip.to_bits() & PREFIX).into(),
        ip => ip,
    }
}

/// The name of the host that a client counts as, of which an address or a name is known.
pub fn limited_as(host: &str) -> Cow<'_, str> {
    match host.parse() {
        Ok(ip) => match host_of(IpAddr::V6(ip)) {
            IpAddr::V6(first) if !first.is_loopback() => Cow::Owned(format!("{first}/64")),
            _ => Cow::Borrowed(host),
        },
        Err(_) => Cow::Borrowed(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_host() {
        for (host, counts_as) in [
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
            ("2001:db8:1:3::", "2001:db8:1:3::/64"),
            ("fe80::1", "fe80::/64"),
            ("::1", "::1"),
            ("10.0.0.1", "10.0.0.1"),
            ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(limited_as(host), counts_as);
        }
        assert_eq!(
            host_of("::ffff:10.0.0.1".parse().unwrap()),
            "10.0.0.1".parse::<IpAddr>().unwrap()
        );
    }
}
