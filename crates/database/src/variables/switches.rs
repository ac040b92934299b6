//! Variables that are several switches: `enabled=on,one_line=off`.

/// All of them, as a number has them by its bits; the bit behind the last is the word `default`, which says nothing.
pub(super) fn of_bits(names: &[&str], bits: i128) -> Option<String> {
    let all = 0..2i128 << names.len();
    let on: Vec<bool> = (0..names.len()).map(|at| bits & (1 << at) != 0).collect();
    all.contains(&bits).then(|| written(names, &on))
}

/// All of them as a text says, where it says something; later words win. What it does not name is as in `default`. `None`: it has a
/// word that is none of `name=on`, `name=off`, `name=default` and `default`.
pub(super) fn parse(names: &[&str], default: &str, text: &str) -> Option<String> {
    let position = |name: &str| names.iter().position(|known| known.eq_ignore_ascii_case(name));
    let mut usual = vec![false; names.len()];
    for (name, state) in default.split(',').filter_map(|part| part.split_once('=')) {
        usual[position(name)?] = state == "on";
    }
    let mut on = usual.clone();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if part.eq_ignore_ascii_case("default") {
            on.clone_from(&usual);
            continue;
        }
        let (name, state) = part.split_once('=')?;
        let at = position(name.trim())?;
        on[at] = match state.trim().to_ascii_lowercase().as_str() {
            "on" => true,
            "off" => false,
            "default" => usual[at],
            _ => return None,
        };
    }
    Some(written(names, &on))
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
        let parse = |text| parse(&names, "enabled=off,one_line=off", text);
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(parse("ENABLED = on"), is("enabled=on,one_line=off"));
        assert_eq!(
            parse("enabled=on,one_line=on,enabled=default"),
            is("enabled=off,one_line=on")
        );
        assert_eq!(parse("enabled=on,default"), is("enabled=off,one_line=off"));
        assert_eq!(parse(""), is("enabled=off,one_line=off"));
        for wrong in ["enabled", "enabled=maybe", "other=on"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(of_bits(&names, 2), is("enabled=off,one_line=on"));
        assert_eq!(of_bits(&names, 5), is("enabled=on,one_line=off"));
        assert_eq!((of_bits(&names, 8), of_bits(&names, -1)), (None, None));
        assert!(is_on("enabled=off,one_line=on", "one_line") && !is_on("enabled=off,one_line=on", "enabled"));
    }
}
