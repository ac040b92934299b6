//! TLS: the certificate, whose signatures on clients' certificates are trusted, and which versions and ciphers are spoken.
//!
//! All of it is read from files that system variables name, at start and at ALTER INSTANCE RELOAD TLS. A connection keeps
//! what it began with. Without `ssl_cert` and `ssl_key` the server uses a self-signed certificate of its own, made once and
//! kept in the data directory under MySQL's names, so that a client may pin it; one that is not whole is made again. Without
//! `ssl_ca` no client is asked for a certificate; with it one that presents a certificate must present a good one, and an
//! account can demand one (`REQUIRE X509` and kin). An empty `tls_version` is no TLS.

use parking_lot::RwLock;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CipherSuite, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidemark_sql::{Database, Encryption, TlsInUse};
use x509_cert::Certificate;
use x509_cert::der::asn1::{Ia5StringRef, PrintableStringRef, TeletexStringRef, Utf8StringRef};
use x509_cert::der::{Decode, Tag, Tagged};
use x509_cert::name::Name;

/// Cipher suites by the names that OpenSSL gives them, which are MySQL's: those of TLS 1.2 stand in `ssl_cipher`, those of
/// TLS 1.3 in `tls_ciphersuites`.
const SUITES: [(CipherSuite, &str); 9] = [
    (CipherSuite::TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
    (CipherSuite::TLS13_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256"),
    (
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        "TLS_CHACHA20_POLY1305_SHA256",
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        "ECDHE-ECDSA-AES256-GCM-SHA384",
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        "ECDHE-ECDSA-AES128-GCM-SHA256",
    ),
    (
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        "ECDHE-ECDSA-CHACHA20-POLY1305",
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        "ECDHE-RSA-AES256-GCM-SHA384",
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        "ECDHE-RSA-AES128-GCM-SHA256",
    ),
    (
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        "ECDHE-RSA-CHACHA20-POLY1305",
    ),
];

/// The variables that say what TLS begins with.
pub const VARIABLES: [&str; 7] = [
    "ssl_cert",
    "ssl_key",
    "ssl_ca",
    "ssl_crl",
    "tls_version",
    "ssl_cipher",
    "tls_ciphersuites",
];

fn name_of(suite: CipherSuite) -> &'static str {
    let known = SUITES.iter().find(|(known, _)| *known == suite);
    known.map_or("", |(_, name)| name)
}

/// What connections that ask for TLS begin with; `None`: they are refused it.
#[derive(Default)]
pub struct Tls {
    current: RwLock<Option<Arc<ServerConfig>>>,
}

impl Tls {
    /// For the next connection.
    pub fn config(&self) -> Option<Arc<ServerConfig>> {
        self.current.read().clone()
    }

    /// Reads all files anew. If that fails the present configuration stays, or, without `keep_on_error`, there is none.
    pub fn load(&self, database: &Database, keep_on_error: bool) -> io::Result<()> {
        let loaded = Settings::of(database).and_then(|settings| match settings.versions.as_str() {
            "" => Ok(None),
            _ => settings.load().map(Some),
        });
        match loaded {
            Ok(config) => {
                let (config, validity_s) = config.unzip();
                *database.tls.lock() = TlsInUse::of(database, validity_s);
                *self.current.write() = config;
                Ok(())
            }
            Err(e) => {
                if !keep_on_error {
                    *self.current.write() = None;
                }
                Err(e)
            }
        }
    }
}

/// Which files and names the system variables give.
struct Settings {
    certificate: PathBuf,
    key: PathBuf,
    authority: Option<PathBuf>,
    revoked: Option<PathBuf>,
    versions: String,
    ciphers: String,
    suites: String,
}

impl Settings {
    /// Makes the server's own certificate if there is no other.
    fn of(database: &Database) -> io::Result<Settings> {
        let text = |name| database.variable(name).unwrap_or_default();
        let directory = PathBuf::from(text("datadir"));
        let file = |name| match text(name).as_str() {
            "" | "NULL" => None,
            named => Some(directory.join(named)),
        };
        let (certificate, key) = match (file("ssl_cert"), file("ssl_key")) {
            (Some(certificate), Some(key)) => (certificate, key),
            _ => own_pair(&directory)?,
        };
        Ok(Settings {
            certificate,
            key,
            authority: file("ssl_ca"),
            revoked: file("ssl_crl"),
            versions: text("tls_version"),
            ciphers: text("ssl_cipher"),
            suites: text("tls_ciphersuites"),
        })
    }

    /// With the time in which the certificate is valid. Fails if a file cannot be read, is not PEM, or the key is not the
    /// certificate's.
    fn load(&self) -> io::Result<(Arc<ServerConfig>, (u64, u64))> {
        let provider = Arc::new(self.provider());
        let chain = pem_items::<CertificateDer>("ssl_cert", &self.certificate)?;
        let validity_s = chain.first().map_or((0, 0), |first| validity_s(first));
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|e| of_file("ssl_key", &self.key, e))?;
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions(&self.versions)?)
            .map_err(io::Error::other)?;
        let config = match &self.authority {
            Some(authority) => builder.with_client_cert_verifier(self.verifier(authority, provider)?),
            None => builder.with_no_client_auth(),
        };
        let config = config.with_single_cert(chain, key);
        let config = config.map_err(|e| of_file("ssl_cert", &self.certificate, e))?;
        Ok((Arc::new(config), validity_s))
    }

    /// The cryptography, with the suites that are named; all of them where none is.
    fn provider(&self) -> CryptoProvider {
        let mut provider = rustls::crypto::ring::default_provider();
        let named = |list: &str, name: &str| list.is_empty() || list.split(':').any(|one| one == name);
        provider.cipher_suites.retain(|suite| {
            let list = if suite.tls13().is_some() {
                &self.suites
            } else {
                &self.ciphers
            };
            named(list, name_of(suite.suite()))
        });
        provider
    }

    fn verifier(
        &self,
        authority: &Path,
        provider: Arc<CryptoProvider>,
    ) -> io::Result<Arc<dyn ClientCertVerifier>> {
        let mut roots = RootCertStore::empty();
        for root in pem_items::<CertificateDer>("ssl_ca", authority)? {
            roots.add(root).map_err(|e| of_file("ssl_ca", authority, e))?;
        }
        let revoked = match &self.revoked {
            Some(file) => pem_items::<CertificateRevocationListDer>("ssl_crl", file)?,
            None => Vec::new(),
        };
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .with_crls(revoked)
            .allow_unauthenticated()
            .build()
            .map_err(|e| of_file("ssl_ca", authority, e))
    }
}

/// From when to when a certificate is valid, in seconds since 1970 UTC.
fn validity_s(der: &CertificateDer) -> (u64, u64) {
    let Ok(certificate) = Certificate::from_der(der) else {
        return (0, 0);
    };
    let validity = certificate.tbs_certificate.validity;
    let seconds = |time: x509_cert::time::Time| time.to_unix_duration().as_secs();
    (seconds(validity.not_before), seconds(validity.not_after))
}

/// All items of a kind in a file in PEM, which must have one.
fn pem_items<T: PemObject>(variable: &str, file: &Path) -> io::Result<Vec<T>> {
    let items: Result<Vec<T>, PemError> = T::pem_file_iter(file).and_then(Iterator::collect);
    match items {
        Ok(items) if items.is_empty() => Err(of_file(variable, file, "nothing of the kind is in it")),
        items => items.map_err(|e| of_file(variable, file, e)),
    }
}

/// What is wrong with the file that a variable names.
fn of_file(variable: &str, file: &Path, why: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{variable} {}: {why}", file.display()))
}

/// `tls_version`: the versions it names.
fn versions(names: &str) -> io::Result<Vec<&'static SupportedProtocolVersion>> {
    let version = |name: &str| match name.trim() {
        "TLSv1.2" => Ok(&rustls::version::TLS12),
        "TLSv1.3" => Ok(&rustls::version::TLS13),
        other => Err(io::Error::other(format!(
            "tls_version may name TLSv1.2 and TLSv1.3, not '{other}'"
        ))),
    };
    names.split(',').map(version).collect()
}

/// The server's own certificate and key, made unless they are there. A pair of which a part is missing, or that does not fit
/// together, is what a power cut left of one that was being made, or came from elsewhere: it is put aside, and another made.
fn own_pair(directory: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let (certificate, key) = (
        directory.join("server-cert.pem"),
        directory.join("server-key.pem"),
    );
    match (certificate.try_exists()?, key.try_exists()?) {
        (false, false) => {}
        (true, true) => match fits(&certificate, &key)? {
            None => return Ok((certificate, key)),
            Some(why) => log::warn!("the server's own certificate is made again: {why}"),
        },
        (_, has_key) => {
            let missing = if has_key { &certificate } else { &key };
            let missing = missing.display();
            log::warn!("the server's own certificate is made again: {missing} is missing");
        }
    }
    for file in [&certificate, &key] {
        let aside = file.with_extension("pem.unusable");
        match fs::rename(file, &aside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(()) => log::warn!("{} is {} now", file.display(), aside.display()),
        }
    }
    create_pair(&certificate, &key)?;
    fs::File::open(directory)?.sync_all()?;
    Ok((certificate, key))
}

/// Why a pair cannot be used; `None`: it can. An error if it cannot be read.
fn fits(certificate: &Path, key: &Path) -> io::Result<Option<String>> {
    let read = |file: &Path| {
        let bytes = fs::read(file);
        bytes.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
    };
    let (chain, key_bytes) = (read(certificate)?, read(key)?);
    let chain: Result<Vec<CertificateDer>, PemError> = CertificateDer::pem_slice_iter(&chain).collect();
    let pair = chain.and_then(|chain| Ok((chain, PrivateKeyDer::from_pem_slice(&key_bytes)?)));
    let (chain, key) = match pair {
        Ok(pair) => pair,
        Err(error) => return Ok(Some(error.to_string())),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
    Ok(config.err().map(|error| error.to_string()))
}

/// How long a certificate holds that is made here, as long as MySQL's do.
const VALID: Duration = Duration::from_secs(3650 * 24 * 60 * 60);

/// A key, and a certificate of it that it signs itself: for this machine by its names and addresses, as of yesterday, since clocks differ.
fn made_pair() -> Result<(rcgen::KeyPair, rcgen::Certificate), rcgen::Error> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if !host.trim().is_empty() && host.trim() != "localhost" {
        names.push(host.trim().to_owned());
    }
    let mut wanted = rcgen::CertificateParams::new(names)?;
    let name = concat!(
        "Tidemark_Server_",
        env!("CARGO_PKG_VERSION"),
        "_Auto_Generated_Certificate"
    );
    wanted.distinguished_name.push(rcgen::DnType::CommonName, name);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    wanted.not_before = epoch + now.saturating_sub(Duration::from_secs(24 * 60 * 60));
    wanted.not_after = epoch + (now + VALID);
    let key = rcgen::KeyPair::generate()?;
    let certificate = wanted.self_signed(&key)?;
    Ok((key, certificate))
}

/// Makes a self-signed certificate and its key. Each has its name only when it is on disk.
fn create_pair(certificate: &Path, key: &Path) -> io::Result<()> {
    let (signing_key, made) = made_pair().map_err(io::Error::other)?;
    let parts = [
        (key, signing_key.serialize_pem(), 0o600),
        (certificate, made.pem(), 0o644),
    ];
    for (path, text, mode) in &parts {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(*mode)
            .open(path.with_extension("pem.new"))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
    }
    for (path, ..) in &parts {
        fs::rename(path.with_extension("pem.new"), path)?;
    }
    Ok(())
}

/// What a connection has agreed on, for the session's status and for accounts that demand it.
pub fn encryption(connection: &ServerConnection) -> Encryption {
    let version = match connection.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "TLSv1.2",
    };
    let suite = connection.negotiated_cipher_suite();
    let presented = connection.peer_certificates().and_then(<[_]>::first);
    let certificate = presented.and_then(|der| Certificate::from_der(der).ok());
    let names = certificate.map(|c| {
        (
            one_line(&c.tbs_certificate.subject),
            one_line(&c.tbs_certificate.issuer),
        )
    });
    Encryption {
        version,
        cipher: suite.map_or("", |suite| name_of(suite.suite())),
        client: names,
        resumed: connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed),
    }
}

/// A distinguished name as OpenSSL's `X509_NAME_oneline` has it, which is what MySQL compares: `/C=SE/O=Example/CN=client`.
fn one_line(name: &Name) -> String {
    let mut line = String::new();
    for attribute in name.0.iter().flat_map(|relative| relative.0.iter()) {
        let oid = attribute.oid.to_string();
        let known = ATTRIBUTES.iter().find(|(known, _)| *known == oid);
        let value = &attribute.value;
        let text = match value.tag() {
            Tag::Utf8String => Utf8StringRef::try_from(value).map(|text| text.as_str().to_owned()),
            Tag::PrintableString => PrintableStringRef::try_from(value).map(|text| text.as_str().to_owned()),
            Tag::Ia5String => Ia5StringRef::try_from(value).map(|text| text.as_str().to_owned()),
            Tag::TeletexString => TeletexStringRef::try_from(value).map(|text| text.as_str().to_owned()),
            _ => Ok(String::from_utf8_lossy(value.value()).into_owned()),
        };
        let name = known.map_or(oid.as_str(), |(_, name)| name);
        line += &format!("/{name}={}", text.unwrap_or_default());
    }
    line
}

/// Attributes of distinguished names by their object identifiers, with OpenSSL's short names.
const ATTRIBUTES: [(&str, &str); 12] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "title"),
    ("2.5.4.42", "GN"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_sql::{CIPHER_SUITES, CIPHERS};

    #[test]
    fn every_suite_has_a_name_that_can_be_set() {
        let provider = rustls::crypto::ring::default_provider();
        let mut names: Vec<&str> = provider
            .cipher_suites
            .iter()
            .map(|suite| name_of(suite.suite()))
            .collect();
        let mut settable: Vec<&str> = CIPHERS.iter().chain(CIPHER_SUITES).copied().collect();
        names.sort();
        settable.sort();
        assert_eq!(names, settable);
    }

    /// What a power cut leaves of a pair, and what else may be there under its names.
    #[test]
    fn a_pair_that_is_not_whole_is_made_again() {
        let directory = std::env::temp_dir().join(format!("tidemark-tls-{}", std::process::id()));
        let other = directory.join("other");
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&other).unwrap();
        let (first, second) = (own_pair(&directory).unwrap(), own_pair(&other).unwrap());
        assert_eq!(own_pair(&directory).unwrap(), first);
        let read = |pair: &(PathBuf, PathBuf)| (fs::read(&pair.0).unwrap(), fs::read(&pair.1).unwrap());
        let (whole, strange) = (read(&first), read(&second));
        assert_ne!(whole, strange, "a pair belongs to its directory");
        // What each of the two files may be: missing, empty, cut short, of another pair, whole.
        let states = |whole: &[u8], strange: &[u8]| {
            [
                None,
                Some(Vec::new()),
                Some(whole[..whole.len() / 2].to_vec()),
                Some(strange.to_vec()),
                Some(whole.to_vec()),
            ]
        };
        let put = |file: &Path, content: &Option<Vec<u8>>| match content {
            None => drop(fs::remove_file(file)),
            Some(content) => fs::write(file, content).unwrap(),
        };
        for (c, certificate) in states(&whole.0, &strange.0).iter().enumerate() {
            for (k, key) in states(&whole.1, &strange.1).iter().enumerate() {
                put(&first.0, certificate);
                put(&first.1, key);
                own_pair(&directory).unwrap();
                let now = read(&first);
                assert_eq!(fits(&first.0, &first.1).unwrap(), None, "{c} {k}");
                let is_kept = c == k && c >= 3;
                assert_eq!(
                    is_kept,
                    certificate.as_ref() == Some(&now.0) && key.as_ref() == Some(&now.1)
                );
            }
        }
        let key_mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&first.1).unwrap().permissions());
        assert_eq!(key_mode & 0o777, 0o600);
        fs::remove_dir_all(&directory).unwrap();
    }
}
