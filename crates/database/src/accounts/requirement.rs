//! `REQUIRE`: what the connection of an account must be. A client's certificate has been checked against `ssl_ca` when it is
//! looked at here, so that its names can be believed.

use crate::parse::ast::Requirement;
use crate::parse::print::quoted;

/// What a connection's two ends have agreed on in TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, by OpenSSL's name.
    pub cipher: &'static str,
    /// Subject and issuer of the certificate that the client has shown, as `/C=SE/O=Example/CN=client`. Its signature has
    /// been checked.
    pub client: Option<(String, String)>,
    /// The session's keys are those of an earlier connection.
    pub resumed: bool,
}

/// Whether a connection that is encrypted like this, or not at all, is what is demanded.
pub fn is_met(requirement: &Requirement, encryption: Option<&Encryption>) -> bool {
    let client = encryption.and_then(|encryption| encryption.client.as_ref());
    match requirement {
        Requirement::None => true,
        Requirement::Ssl => encryption.is_some(),
        Requirement::X509 => client.is_some(),
        Requirement::Given {
            subject,
            issuer,
            cipher,
        } => {
            let is = |wanted: &Option<String>, found: Option<&str>| {
                wanted.as_deref().is_none_or(|wanted| Some(wanted) == found)
            };
            encryption.is_some_and(|encryption| is(cipher, Some(encryption.cipher)))
                && is(subject, client.map(|(subject, _)| subject.as_str()))
                && is(issuer, client.map(|(_, issuer)| issuer.as_str()))
        }
    }
}

/// `mysql.user.ssl_type`.
pub fn type_name(requirement: &Requirement) -> &'static str {
    match requirement {
        Requirement::None => "",
        Requirement::Ssl => "ANY",
        Requirement::X509 => "X509",
        Requirement::Given { .. } => "SPECIFIED",
    }
}

/// As SHOW CREATE USER writes it behind `REQUIRE`.
pub fn written(requirement: &Requirement) -> String {
    match requirement {
        Requirement::None => "NONE".to_owned(),
        Requirement::Ssl => "SSL".to_owned(),
        Requirement::X509 => "X509".to_owned(),
        Requirement::Given {
            subject,
            issuer,
            cipher,
        } => {
            let parts = [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)];
            let given = parts
                .iter()
                .filter_map(|(word, value)| Some((word, value.as_ref()?)));
            let written: Vec<String> = given
                .map(|(word, value)| format!("{word} {}", quoted(value)))
                .collect();
            written.join(" ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_demanded_must_be_there() {
        let plain = Encryption {
            version: "TLSv1.3",
            cipher: "TLS_AES_256_GCM_SHA384",
            client: None,
            resumed: false,
        };
        let known = Encryption {
            client: Some(("/CN=a".to_owned(), "/CN=ca".to_owned())),
            ..plain.clone()
        };
        let given = |subject: Option<&str>, issuer: Option<&str>, cipher: Option<&str>| Requirement::Given {
            subject: subject.map(str::to_owned),
            issuer: issuer.map(str::to_owned),
            cipher: cipher.map(str::to_owned),
        };
        let met = |demanded: &Requirement| [None, Some(&plain), Some(&known)].map(|e| is_met(demanded, e));
        assert_eq!(met(&Requirement::None), [true, true, true]);
        assert_eq!(met(&Requirement::Ssl), [false, true, true]);
        assert_eq!(met(&Requirement::X509), [false, false, true]);
        assert_eq!(
            met(&given(None, None, Some("TLS_AES_256_GCM_SHA384"))),
            [false, true, true]
        );
        assert_eq!(met(&given(None, None, Some("other"))), [false, false, false]);
        assert_eq!(
            met(&given(Some("/CN=a"), Some("/CN=ca"), None)),
            [false, false, true]
        );
        assert_eq!(
            met(&given(Some("/CN=b"), Some("/CN=ca"), None)),
            [false, false, false]
        );
        assert_eq!(
            met(&given(Some("/CN=a"), Some("/CN=b"), None)),
            [false, false, false]
        );
        assert_eq!(
            written(&given(Some("/CN=a"), None, Some("c"))),
            "SUBJECT '/CN=a' CIPHER 'c'"
        );
    }
}
