//! The words of a command line: options `--name value` or `--name=value`, flags `--name`, and what stands by itself.

use std::str::FromStr;

/// What is left of a command line.
pub(crate) struct Words(Vec<String>);

impl Words {
    pub(crate) fn new(words: impl IntoIterator<Item = String>) -> Words {
        Words(words.into_iter().collect())
    }

    /// Takes a flag; true if it was there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|word| word != name);
        self.0.len() < before
    }

    /// Takes the values of an option, in the order in which they stand.
    pub(crate) fn all(&mut self, name: &str) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        while let Some(at) = self.0.iter().position(|word| is_option(word, name)) {
            let word = self.0.remove(at);
            match word.split_once('=') {
                Some((_, value)) => values.push(value.to_owned()),
                None if at < self.0.len() && !self.0[at].starts_with("--") => values.push(self.0.remove(at)),
                None => return Err(format!("{name} needs a value")),
            }
        }
        Ok(values)
    }

    /// Takes an option; the last one counts.
    pub(crate) fn one<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, String> {
        match self.all(name)?.pop() {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(format!("{name} cannot be '{text}'")),
            },
        }
    }

    /// Takes a number that lies within bounds.
    pub(crate) fn number<T: FromStr + PartialOrd + std::fmt::Display>(
        &mut self,
        name: &str,
        min: T,
        max: T,
    ) -> Result<Option<T>, String> {
        match self.one::<T>(name)? {
            Some(value) if !(min <= value && value <= max) => {
                Err(format!("{name} is a number from {min} to {max}"))
            }
            value => Ok(value),
        }
    }

    /// The rest, which must not be options.
    pub(crate) fn rest(self) -> Result<Vec<String>, String> {
        match self.0.iter().find(|word| word.starts_with('-')) {
            Some(word) => Err(format!(
                "there is no option '{word}'; `tidemark lab` says which there are"
            )),
            None => Ok(self.0),
        }
    }
}

fn is_option(word: &str, name: &str) -> bool {
    word.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Words {
        Words::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_flags_and_the_rest() {
        let mut line = words("queue --server a=1 --quick --server=b=2 hot --n 5");
        assert_eq!(line.all("--server").unwrap(), ["a=1", "b=2"]);
        assert!(line.flag("--quick") && !line.flag("--quick"));
        assert_eq!(line.number("--n", 1, 9).unwrap(), Some(5));
        assert_eq!(line.rest().unwrap(), ["queue", "hot"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(words("--n").all("--n").is_err());
        assert!(words("--n --m").all("--n").is_err());
        assert!(words("--n x").number("--n", 1, 9).is_err());
        assert!(words("--n 10").number("--n", 1, 9).is_err());
        assert!(words("--n NaN").number("--n", 1.0, 9.0).is_err());
        assert!(words("--nn 1").rest().is_err());
    }
}
