//! What TLS connections begin with at present, as SHOW STATUS and `performance_schema.tls_channel_status` show it. The server
//! that reads certificates tells it here, whenever it has read them.

use crate::context::Database;
use crate::variables::{CIPHER_SUITES, CIPHERS};
use jiff::Timestamp;

/// The settings that were read last, and the certificate they led to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsInUse {
    /// The names of `Current_tls_…` behind that, and the value that the variable of each had.
    pub settings: Vec<(&'static str, String)>,
    /// From when to when the server's certificate is valid, in seconds since 1970 UTC; `None`: TLS is off.
    pub validity_s: Option<(u64, u64)>,
}

/// The settings that are read, by their names behind `Current_tls_`, and the variables that hold them.
const SETTINGS: [(&str, &str); 9] = [
    ("ca", "ssl_ca"),
    ("capath", "ssl_capath"),
    ("cert", "ssl_cert"),
    ("cipher", "ssl_cipher"),
    ("ciphersuites", "tls_ciphersuites"),
    ("crl", "ssl_crl"),
    ("crlpath", "ssl_crlpath"),
    ("key", "ssl_key"),
    ("version", "tls_version"),
];

impl TlsInUse {
    /// With the values that the variables have now.
    pub fn of(database: &Database, validity_s: Option<(u64, u64)>) -> TlsInUse {
        let value = |variable| match database.variable(variable) {
            Some(value) if value != "NULL" => value,
            _ => String::new(),
        };
        TlsInUse {
            settings: SETTINGS.map(|(name, variable)| (name, value(variable))).to_vec(),
            validity_s,
        }
    }

    /// What connections may be encrypted with, TLS 1.3's first; empty if there is no TLS.
    pub fn ciphers(&self) -> String {
        if self.validity_s.is_none() {
            return String::new();
        }
        let named = |name: &str, all: &[&str]| {
            let set = self.settings.iter().find(|(setting, _)| *setting == name);
            match set.map(|(_, value)| value.as_str()) {
                None | Some("") => all.join(":"),
                Some(value) => value.to_owned(),
            }
        };
        [named("ciphersuites", CIPHER_SUITES), named("cipher", CIPHERS)].join(":")
    }

    /// From when and to when the certificate is valid, as OpenSSL writes moments; empty if there is none.
    pub fn validity(&self) -> [String; 2] {
        let text = |seconds: u64| match Timestamp::from_second(seconds as i64) {
            Ok(at) => at.strftime("%b %e %H:%M:%S %Y GMT").to_string(),
            Err(_) => String::new(),
        };
        match self.validity_s {
            Some((from, to)) => [text(from), text(to)],
            None => Default::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_openssl_does() {
        let tls = TlsInUse {
            settings: Vec::new(),
            validity_s: Some((0, 1_795_483_277)),
        };
        assert_eq!(
            tls.validity(),
            ["Jan  1 00:00:00 1970 GMT", "Nov 24 01:21:17 2026 GMT"]
        );
        assert_eq!(TlsInUse::default().validity(), ["", ""]);
    }
}
