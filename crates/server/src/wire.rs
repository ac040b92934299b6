//! The protocol's small coins: integers and strings as they stand inside packets.
//!
//! Everything read here comes from the network. Each read checks what is left, so a packet that ends too early, or
//! claims a length it does not have, is [`Malformed`] and nothing worse.

/// A packet that does not hold what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A length-encoded integer.
#[inline]
pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfa => out.push(value as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&value.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// A length-encoded string.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads a packet's fields one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(packet: &'a [u8]) -> Fields<'a> {
        Fields { rest: packet }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// All that has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    #[inline]
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    #[inline]
    pub fn lenenc(&mut self) -> Result<u64, Malformed> {
        Ok(match self.u8()? {
            0xfc => self.u16()? as u64,
            0xfd => {
                let [a, b, c] = self.array()?;
                u32::from_le_bytes([a, b, c, 0]) as u64
            }
            0xfe => self.u64()?,
            0xfb | 0xff => return Err(Malformed),
            small => small as u64,
        })
    }

    /// A length of eight bytes is read as MySQL reads it, by its lower four: there are clients that fill the upper ones
    /// with something else.
    #[inline]
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.lenenc()? & 0xffff_ffff;
        self.bytes(usize::try_from(len).map_err(|_| Malformed)?)
    }

    /// Up to a NUL, which is consumed. Some clients leave out the NUL of the last string, so the packet's end will do.
    pub fn until_nul(&mut self) -> &'a [u8] {
        let len = self.rest.iter().position(|b| *b == 0);
        let taken = &self.rest[..len.unwrap_or(self.rest.len())];
        self.rest = &self.rest[len.map_or(self.rest.len(), |n| n + 1)..];
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_encoded_integers_are_as_the_protocol_draws_them() {
        let cases: [(u64, &[u8]); 8] = [
            (0, &[0]),
            (250, &[250]),
            (251, &[0xfc, 251, 0]),
            (0xffff, &[0xfc, 0xff, 0xff]),
            (0x1_0000, &[0xfd, 0, 0, 1]),
            (0xff_ffff, &[0xfd, 0xff, 0xff, 0xff]),
            (0x100_0000, &[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]),
        ];
        for (value, bytes) in cases {
            let mut out = Vec::new();
            put_lenenc(&mut out, value);
            assert_eq!(out, bytes);
            let mut fields = Fields::new(bytes);
            assert_eq!(fields.lenenc(), Ok(value));
            assert!(fields.is_empty());
            assert_eq!(Fields::new(&bytes[..bytes.len() - 1]).lenenc(), Err(Malformed));
        }
    }

    #[test]
    fn lengths_beyond_the_packet_are_refused() {
        assert_eq!(Fields::new(&[5, 1, 2]).lenenc_bytes(), Err(Malformed));
        assert_eq!(
            Fields::new(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]).lenenc_bytes(),
            Err(Malformed)
        );
        // What mysql2 for Node sends for a length of 0x0100_0002.
        let mut long = vec![0xfe, 2, 0, 0, 1, 0, 0, 1, 0];
        assert_eq!(Fields::new(&long).lenenc_bytes(), Err(Malformed));
        long.resize(long.len() + 0x100_0002, b'x');
        assert_eq!(Fields::new(&long).lenenc_bytes().map(<[u8]>::len), Ok(0x100_0002));
        assert_eq!(Fields::new(&[0xfb]).lenenc(), Err(Malformed));
        assert_eq!(Fields::new(&[]).u8(), Err(Malformed));
        assert_eq!(Fields::new(&[1, 2, 3]).u32(), Err(Malformed));
    }

    #[test]
    fn a_string_ends_at_its_nul_or_with_the_packet() {
        let mut fields = Fields::new(b"root\0test");
        assert_eq!(fields.until_nul(), b"root");
        assert_eq!(fields.until_nul(), b"test");
        assert_eq!(fields.until_nul(), b"");
    }
}
