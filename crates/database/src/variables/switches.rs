//! Variables that are several switches: `enabled=on,one_line=off`.

/// All of them, as a number has them by its bits; the bit behind the last is the word `default`, which says nothing.
pub(super) fn of_bits(names: &[&str], bits: i128) -> Option<String> {
    let all = 0..2i128 << names.len();
    let on: Vec<bool> = (0..names.len()).map(|at| bits & (1 << at) != 0).collect();
    all.contains(&bits).then(|| written(names, &on))
}

/// All of them as a text says, of which some are on already: an item is `name=on`, `name=off` or `name=default`, and the word `default`
/// stands for all that have no item of their own. Nothing may come twice. `Err`: the text from the first wrong item on.
///
/// As in MySQL, spaces at the end of a word do not count, and a word that the text ends with may be cut short: `default` and the states
/// to what is still theirs alone; an `o`, which could be two, says the default.
pub(super) fn parse<'t>(names: &[&str], default: &str, now: &str, text: &'t str) -> Result<String, &'t str> {
    let usual: Vec<bool> = names.iter().map(|name| is_on(default, name)).collect();
    let mut said = vec![None; names.len()];
    let mut said_default = false;
    let mut rest = (!text.is_empty()).then_some(text);
    while let Some(from) = rest {
        let (item, after) = match from.split_once(',') {
            Some((item, after)) => (item, Some(after)),
            None => (from, None),
        };
        match parse_item(names, item, after.is_none()) {
            Some(Item::Default) if !said_default => said_default = true,
            Some(Item::Switch(at, state)) if said[at].is_none() => said[at] = Some(state),
            _ => return Err(from),
        }
        rest = after;
    }
    let state = |at: usize, name: &&str| match said[at] {
        Some(State::On) => true,
        Some(State::Off) => false,
        Some(State::Default) => usual[at],
        None if said_default => usual[at],
        None => is_on(now, name),
    };
    let on: Vec<bool> = names
        .iter()
        .enumerate()
        .map(|(at, name)| state(at, name))
        .collect();
    Ok(written(names, &on))
}

#[derive(Clone, Copy)]
enum State {
    On,
    Off,
    Default,
}

enum Item {
    Default,
    Switch(usize, State),
}

/// Reads an item; the text ends with the `last`.
fn parse_item(names: &[&str], item: &str, last: bool) -> Option<Item> {
    let Some((name, state)) = item.split_once('=') else {
        let word = item.trim_end_matches(' ');
        let is_short = last && starts("default", word) && !names.iter().any(|name| starts(name, word));
        return (word.eq_ignore_ascii_case("default") || is_short).then_some(Item::Default);
    };
    let (name, state) = (name.trim_end_matches(' '), state.trim_end_matches(' '));
    let at = names.iter().position(|known| known.eq_ignore_ascii_case(name))?;
    const STATES: [(&str, State); 3] = [
        ("off", State::Off),
        ("on", State::On),
        ("default", State::Default),
    ];
    let whole = STATES.iter().find(|(word, _)| word.eq_ignore_ascii_case(state));
    let state = match whole {
        Some((_, state)) => *state,
        None if !last => return None,
        None => {
            let mut possible = STATES.iter().filter(|(word, _)| starts(word, state));
            match (possible.next(), possible.next()) {
                (Some((_, state)), None) => *state,
                (Some(_), Some(_)) if !state.is_empty() => State::Default,
                _ => return None,
            }
        }
    };
    Some(Item::Switch(at, state))
}

/// Whether a word begins with another, which is not empty.
fn starts(word: &str, with: &str) -> bool {
    let start = word.get(..with.len());
    !with.is_empty() && start.is_some_and(|start| start.eq_ignore_ascii_case(with))
}

fn written(names: &[&str], on: &[bool]) -> String {
    let state = |on: &bool| if *on { "on" } else { "off" };
    let parts = names.iter().zip(on);
    let parts: Vec<String> = parts.map(|(name, on)| format!("{name}={}", state(on))).collect();
    parts.join(",")
}

/// Whether a switch is on in a text that has all of them.
pub(super) fn is_on(text: &str, name: &str) -> bool {
    text.split(',').any(|part| part.strip_prefix(name) == Some("=on"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_switch_what_they_name() {
        let names = ["enabled", "one_line"];
        let (default, now) = ("enabled=on,one_line=off", "enabled=on,one_line=on");
        let parse = |text| parse(&names, default, now, text);
        for (text, then) in [
            ("", "enabled=on,one_line=on"),
            ("ENABLED=Off", "enabled=off,one_line=on"),
            ("one_line =off ", "enabled=on,one_line=off"),
            ("one_line=default,enabled=off", "enabled=off,one_line=off"),
            ("enabled=off,default", "enabled=off,one_line=off"),
            ("DEFAULT,enabled=off", "enabled=off,one_line=off"),
            ("enabled=off,def", "enabled=off,one_line=off"),
            ("enabled=of", "enabled=off,one_line=on"),
            ("one_line=o", "enabled=on,one_line=off"),
        ] {
            assert_eq!(parse(text), Ok(then.to_owned()), "{text}");
        }
        for (text, wrong) in [
            ("enabled", "enabled"),
            ("enabled=maybe,one_line=on", "enabled=maybe,one_line=on"),
            ("enabled=on,other=on,x", "other=on,x"),
            ("enabled=on, one_line=on", " one_line=on"),
            ("enabled=on,enabled=off", "enabled=off"),
            ("default,default", "default"),
            ("enabled=of,one_line=on", "enabled=of,one_line=on"),
            ("enabled=on=off", "enabled=on=off"),
            ("enabl=on", "enabl=on"),
            ("enabled=", "enabled="),
            ("default=on", "default=on"),
            ("enabled=on,", ""),
            (",", ","),
        ] {
            assert_eq!(parse(text), Err(wrong), "{text}");
        }
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(of_bits(&names, 2), is("enabled=off,one_line=on"));
        assert_eq!(of_bits(&names, 5), is("enabled=on,one_line=off"));
        assert_eq!((of_bits(&names, 8), of_bits(&names, -1)), (None, None));
        assert!(is_on("enabled=off,one_line=on", "one_line") && !is_on("enabled=off,one_line=on", "enabled"));
    }
}
