//! The server's own secrets: the RSA key under which a client may send its password, and the certificate of TLS.
//!
//! Both are made when first wanted. The RSA key lives as long as the process, since clients ask for it anew; the
//! certificate is kept in the data directory (`server-cert.pem`, `server-key.pem`) so that a client may pin it.

use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPrivateKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};
use sha1::Sha1;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

const RSA_BITS: usize = 2048;

/// Passwords sent over an open line are encrypted with this.
#[derive(Default)]
pub struct PasswordKey {
    key: OnceLock<RsaPrivateKey>,
}

impl PasswordKey {
    fn key(&self) -> &RsaPrivateKey {
        self.key
            .get_or_init(|| RsaPrivateKey::new(&mut OsRng, RSA_BITS).expect("2048 is a size of RSA keys"))
    }

    /// The public half in PEM.
    pub fn public_pem(&self) -> String {
        let public = self.key().to_public_key();
        public
            .to_public_key_pem(LineEnding::LF)
            .expect("an RSA key has a PEM form")
    }

    /// What the client has encrypted; `None` if it was not for this key.
    pub fn decrypt(&self, encrypted: &[u8]) -> Option<Vec<u8>> {
        // With blinding, so that the time it takes says nothing.
        let padding = Oaep::new::<Sha1>();
        self.key().decrypt_blinded(&mut OsRng, padding, encrypted).ok()
    }
}

/// `tls_version`: the versions it names.
fn versions(names: &str) -> io::Result<Vec<&'static SupportedProtocolVersion>> {
    if names.is_empty() {
        return Ok(rustls::DEFAULT_VERSIONS.to_vec());
    }
    let version = |name: &str| match name.trim() {
        "TLSv1.2" => Ok(&rustls::version::TLS12),
        "TLSv1.3" => Ok(&rustls::version::TLS13),
        other => Err(io::Error::other(format!(
            "tls_version may name TLSv1.2 and TLSv1.3, not '{other}'"
        ))),
    };
    names.split(',').map(version).collect()
}

/// Where the certificate of TLS and its key are.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The chain in PEM, the server's own certificate first.
    pub certificate: PathBuf,
    /// The private key in PEM.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// `server-cert.pem` and `server-key.pem` in a directory, MySQL's names.
    pub fn in_directory(dir: &Path) -> CertificateFiles {
        CertificateFiles {
            certificate: dir.join("server-cert.pem"),
            key: dir.join("server-key.pem"),
        }
    }

    /// Makes a self-signed certificate unless there is one.
    pub fn create_if_missing(&self) -> io::Result<()> {
        if self.certificate.exists() && self.key.exists() {
            return Ok(());
        }
        let names = vec!["localhost".to_string(), "127.0.0.1".to_string()];
        let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        let mut key = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&self.key)?;
        key.write_all(made.signing_key.serialize_pem().as_bytes())?;
        fs::write(&self.certificate, made.cert.pem())
    }

    /// Reads both files. Fails if one cannot be read, is not PEM, or the key is not the certificate's.
    pub fn load(&self, tls_version: &str) -> io::Result<Arc<ServerConfig>> {
        let versions = versions(tls_version)?;
        let of = |path: &Path, e: rustls::pki_types::pem::Error| {
            io::Error::other(format!("{}: {e}", path.display()))
        };
        let chain: Vec<CertificateDer> = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect)
            .map_err(|e| of(&self.certificate, e))?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|e| of(&self.key, e))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(io::Error::other)?;
        Ok(Arc::new(config))
    }
}
