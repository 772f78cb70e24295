//! Arithmetic over the figures of a run: `pgscan_direct + pgscan_kswapd`, `100 * pgsteal_kswapd / pgscan_kswapd`. Words stand
//! apart by blanks, since names of figures hold dots and dashes.

use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// An expression.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Expression {
    text: String,
    tree: Tree,
}

#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Number(f64),
    Name(String),
    Apply(Box<Tree>, char, Box<Tree>),
}

/// A text that is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no expression at `{at}`: names and numbers, + - * / and brackets, with blanks between all of them"
)]
pub struct ExpressionError {
    text: String,
    at: String,
}

impl Expression {
    /// Its value; `None` if a figure is not known, or for a quotient by zero.
    pub fn value(&self, figure: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        self.tree.value(figure)
    }

    /// Names of the figures that it uses.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.tree.names(&mut names);
        names
    }
}

impl Tree {
    fn value(&self, figure: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        match self {
            Tree::Number(number) => Some(*number),
            Tree::Name(name) => figure(name),
            Tree::Apply(left, sign, right) => {
                let (left, right) = (left.value(figure)?, right.value(figure)?);
                match sign {
                    '+' => Some(left + right),
                    '-' => Some(left - right),
                    '*' => Some(left * right),
                    _ => (right != 0.0).then(|| left / right),
                }
            }
        }
    }

    fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Tree::Number(_) => {}
            Tree::Name(name) => names.push(name),
            Tree::Apply(left, _, right) => {
                left.names(names);
                right.names(names);
            }
        }
    }
}

/// What is left to be read.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn next_of(&mut self, signs: &str) -> Option<char> {
        let sign = self.0.last().filter(|word| word.len() == 1 && signs.contains(**word))?.chars().next();
        self.0.pop();
        sign
    }

    fn sum(&mut self) -> Option<Tree> {
        let mut tree = self.product()?;
        while let Some(sign) = self.next_of("+-") {
            tree = Tree::Apply(Box::new(tree), sign, Box::new(self.product()?));
        }
        Some(tree)
    }

    fn product(&mut self) -> Option<Tree> {
        let mut tree = self.factor()?;
        while let Some(sign) = self.next_of("*/") {
            tree = Tree::Apply(Box::new(tree), sign, Box::new(self.factor()?));
        }
        Some(tree)
    }

    fn factor(&mut self) -> Option<Tree> {
        let word = self.0.pop()?;
        if word == "(" {
            let tree = self.sum()?;
            return self.next_of(")").map(|_| tree);
        }
        if let Ok(number) = word.parse() {
            return Some(Tree::Number(number));
        }
        let named = word.starts_with(|c: char| c.is_ascii_alphabetic());
        (named && !word.contains(['(', ')', '+', '*'])).then(|| Tree::Name(word.to_owned()))
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Expression, ExpressionError> {
        let mut words = Words(text.split_whitespace().rev().collect());
        let tree = words.sum();
        match tree {
            Some(tree) if words.0.is_empty() => Ok(Expression { text: text.to_owned(), tree }),
            _ => {
                let at = words.0.last().unwrap_or(&"its end");
                Err(ExpressionError { text: text.to_owned(), at: (*at).to_owned() })
            }
        }
    }
}

impl TryFrom<String> for Expression {
    type Error = ExpressionError;

    fn try_from(text: String) -> Result<Expression, ExpressionError> {
        text.parse()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        let figure = |name: &str| match name {
            "a" => Some(6.0),
            "measure.b-1" => Some(2.0),
            "zero" => Some(0.0),
            _ => None,
        };
        text.parse::<Expression>().unwrap_or_else(|error| panic!("{error}")).value(&figure)
    }

    #[test]
    fn arithmetic() {
        assert_eq!(value("a - measure.b-1 * 2 + 1"), Some(3.0));
        assert_eq!(value("100 * ( a - measure.b-1 ) / a"), Some(400.0 / 6.0));
        assert_eq!(value("a / measure.b-1 / 3"), Some(1.0));
        assert_eq!((value("a / zero"), value("a + unknown")), (None, None));
        assert_eq!("a / ( b + 2 )".parse::<Expression>().expect("well formed").names(), ["a", "b"]);
    }

    #[test]
    fn slips_are_told() {
        for text in ["", "a +", "( a", "a )", "a b", "+ a", "a+b"] {
            let refused = text.parse::<Expression>().expect_err(text).to_string();
            assert!(refused.contains("is no expression"), "{refused}");
        }
    }
}
