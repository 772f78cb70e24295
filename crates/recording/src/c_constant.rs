//! Constant expressions of C as the kernel prints them into `print fmt`: numbers, `|`, `&`, `<<`, `~`, parentheses and casts.

/// Nesting beyond which a text is no constant of any kernel.
const MAX_DEPTH: u8 = 64;
/// Words that a cast before a constant consists of; what they lose is above the 32 bits of a mask.
const TYPE_WORDS: [&str; 5] = ["gfp_t", "unsigned", "long", "int", "__force"];

/// The value of the whole text; `None` if it holds anything else, such as an enumerator's name.
pub(crate) fn evaluate(text: &str) -> Option<u64> {
    let mut reader = Reader { rest: text, depth: 0 };
    let value = reader.or()?;
    reader.rest.trim().is_empty().then_some(value)
}

/// A C integer constant: decimal or hexadecimal, with sign and suffixes.
pub(crate) fn number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    if let Some(hex) = digits.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    digits.parse::<i64>().ok().map(|number| number as u64)
}

struct Reader<'t> {
    rest: &'t str,
    depth: u8,
}

impl Reader<'_> {
    fn taken(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn or(&mut self) -> Option<u64> {
        let mut value = self.and()?;
        while self.taken("|") {
            value |= self.and()?;
        }
        Some(value)
    }

    fn and(&mut self) -> Option<u64> {
        let mut value = self.shift()?;
        while self.taken("&") {
            value &= self.shift()?;
        }
        Some(value)
    }

    fn shift(&mut self) -> Option<u64> {
        let mut value = self.unary()?;
        while self.taken("<<") {
            value = value.checked_shl(self.unary()?.try_into().ok()?)?;
        }
        Some(value)
    }

    fn unary(&mut self) -> Option<u64> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = if self.taken("~") {
            !self.unary()?
        } else if self.cast() {
            self.unary()?
        } else if self.taken("(") {
            let value = self.or()?;
            self.taken(")").then_some(value)?
        } else {
            self.literal()?
        };
        self.depth -= 1;
        Some(value)
    }

    /// Skips a type in parentheses.
    fn cast(&mut self) -> bool {
        let inner = self.rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let Some((words, rest)) = inner else { return false };
        let is_type = !words.trim().is_empty() && words.split_whitespace().all(|word| TYPE_WORDS.contains(&word));
        if is_type {
            self.rest = rest;
        }
        is_type
    }

    fn literal(&mut self) -> Option<u64> {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        let value = number(&text[..end])?;
        self.rest = &text[end..];
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::{evaluate, number};

    #[test]
    fn masks_as_kernels_print_them() {
        assert_eq!(evaluate("( unsigned long)(( gfp_t)0x20u)"), Some(0x20));
        assert_eq!(evaluate("( unsigned long)(( gfp_t)((((1UL))) << (24)))"), Some(1 << 24));
        let reclaim = "( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))";
        assert_eq!(evaluate(&format!("(unsigned long)(({reclaim} | ( gfp_t)0x40u) & ~({reclaim}))")), Some(0x40));
    }

    #[test]
    fn what_is_no_constant_has_no_value() {
        for text in ["", "(1", "1)", "((1UL) << (___GFP_IO_BIT))", "1 << 64", "1 2", "REC->x", "~"] {
            assert_eq!(evaluate(text), None, "{text}");
        }
        assert_eq!(evaluate(&"(".repeat(100_000)), None);
        assert_eq!(number("-1"), Some(u64::MAX));
    }
}
