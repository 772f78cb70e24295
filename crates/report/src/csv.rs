//! Comma-separated values: one line a row, one field a column of the table.

use crate::calibration::Verdict;
use crate::{Report, Rows};
use std::borrow::Cow;

/// A field, quoted where it must be (RFC 4180).
pub fn field(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

impl Report<'_> {
    /// `row,kernel,POLICY...`; a figure that a column does not know is empty. Behind them, where there is a recorded kernel to
    /// compare with, `calibration`.
    pub fn to_csv(&self) -> String {
        let rows: Vec<Rows> = self.columns.iter().map(|column| Rows::of(column.outcome)).collect();
        let mut text = String::from("row");
        for column in &self.columns {
            text.push(',');
            text.push_str(&field(&column.name));
        }
        if self.calibration.is_some() {
            text.push_str(",calibration");
        }
        text.push('\n');
        for name in Rows::names(&rows) {
            text.push_str(&field(&name));
            for rows in &rows {
                text.push(',');
                text.push_str(&rows.get(&name).map(|value| value.to_string()).unwrap_or_default());
            }
            if let Some(calibration) = &self.calibration {
                text.push(',');
                text.push_str(calibration.of_row(&name).map(Verdict::name).unwrap_or_default());
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn quotes_where_needed() {
        assert_eq!(field("recorded"), "recorded");
        assert_eq!(field("recorded,vm.defrag_mode=1"), "\"recorded,vm.defrag_mode=1\"");
        assert_eq!(field("a\"b"), "\"a\"\"b\"");
    }
}
