//! What a page is put together of: texts that are escaped, and tables.

use std::fmt::Write;

/// A text as it may stand in an element or an attribute. Characters that no XML may have become `�`.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// A table that may be wider than the page: it scrolls by itself. The first column names the rows. Texts are escaped.
pub(crate) fn table(caption: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!(
        "<div class=\"wide\" tabindex=\"0\"><table><caption>{}</caption><thead><tr>",
        escape(caption)
    );
    // Writing to a String cannot fail.
    for name in head {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(name));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (at, value) in row.iter().enumerate() {
            let value = escape(value);
            let _ = match at {
                0 => write!(out, "<th scope=\"row\">{value}</th>"),
                _ => write!(out, "<td>{value}</td>"),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// A paragraph with a word in front of it.
pub(crate) fn said(word: &str, text: &str) -> String {
    format!("<p><b>{}</b> {}</p>\n", escape(word), escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_results_is_markup() {
        assert_eq!(
            escape("<a href='x'>&\u{1}"),
            "&lt;a href=&#39;x&#39;&gt;&amp;\u{fffd}"
        );
        let table = table("<c>", &["<h>"], &[vec!["<r>".to_owned(), "<v>".to_owned()]]);
        for part in ["<c>", "<h>", "<r>", "<v>"] {
            assert!(!table.contains(part), "{part}");
        }
    }
}
