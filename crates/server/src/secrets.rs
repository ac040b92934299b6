//! The RSA key under which a client may send its password over an open line. It is made when first wanted, and lives as long
//! as the process, since clients ask for it anew.

use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPrivateKey};
use sha1::Sha1;
use std::sync::OnceLock;

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
