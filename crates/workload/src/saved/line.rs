//! One operation as one line, and back.

use crate::Op;
use crate::words::{FORMS, MAX_OPERANDS, Operand, Words};
use pagealloc::policy::closest;
use std::io::{self, Write};

/// Writes an operation's line.
pub fn write(out: &mut impl Write, op: &Op) -> io::Result<()> {
    let words = Words::from(op);
    let form = &FORMS[words.code];
    out.write_all(form.name.as_bytes())?;
    for (operand, value) in form.operands.iter().zip(words.operands) {
        match operand {
            Operand::Number(_) => write!(out, " {value}")?,
            Operand::Bits => write!(out, " {value:x}")?,
            Operand::Word(words) => write!(out, " {}", words[value as usize])?,
        }
    }
    out.write_all(b"\n")
}

/// Reads an operation's line, or says what is wrong with it.
pub fn parse(line: &str) -> Result<Op, String> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().unwrap_or_default();
    let code = FORMS.iter().position(|form| form.name == name).ok_or_else(|| unknown(name))?;
    let form = &FORMS[code];
    let mut operands = [0; MAX_OPERANDS];
    for (number, (operand, value)) in form.operands.iter().zip(&mut operands).enumerate() {
        let word = words.next().ok_or_else(|| format!("`{name}` lacks operand {}", number + 1))?;
        *value = parse_operand(operand, word).map_err(|why| format!("operand {} of `{name}`: {why}", number + 1))?;
    }
    if let Some(word) = words.next() {
        return Err(format!("`{word}` is more than `{name}` takes"));
    }
    Words { code, operands }.op().ok_or_else(|| format!("`{line}` is no operation"))
}

fn unknown(name: &str) -> String {
    let near = closest(name, FORMS.iter().map(|form| form.name));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("unknown operation `{name}`{hint}")
}

fn parse_operand(operand: &Operand, word: &str) -> Result<u64, String> {
    match operand {
        Operand::Number(most) => match word.parse::<u64>() {
            Ok(number) if number <= *most => Ok(number),
            _ => Err(format!("`{word}` is no whole number up to {most}")),
        },
        Operand::Bits => bits(word),
        Operand::Word(words) => match words.iter().position(|known| *known == word) {
            Some(at) => Ok(at as u64),
            None => Err(format!("`{word}` is none of {}", words.join(", "))),
        },
    }
}

/// A number of 64 bits in hexadecimal digits.
pub fn bits(word: &str) -> Result<u64, String> {
    u64::from_str_radix(word, 16).map_err(|_| format!("`{word}` is no number in hexadecimal digits"))
}
