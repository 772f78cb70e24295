//! Every field of a policy as text, read from its `Debug` form, so that a field can never be forgotten here.

use serde_json::{Map, Value};

/// A value as `Debug` prints it: the subset of forms that policies are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tree {
    /// A word: number, name of a variant, text.
    Word(String),
    /// A name with fields.
    Fields(String, Vec<(String, Tree)>),
    /// An array.
    List(Vec<Tree>),
}

/// How the names of structs that only group fields end.
const GROUPS: [&str; 2] = ["Rules", "Sysctl"];

/// All fields as (dotted name, value), in the order of their declaration.
pub fn fields(value: &impl std::fmt::Debug) -> Vec<(String, String)> {
    let mut flat = Vec::new();
    flatten(&parse(&format!("{value:?}")), "", &mut flat);
    flat
}

/// The same as a JSON object. A variant with fields is an object whose `variant` key names it.
pub fn json(value: &impl std::fmt::Debug) -> Value {
    to_json(&parse(&format!("{value:?}")))
}

fn parse(text: &str) -> Tree {
    let mut rest = text;
    tree(&mut rest)
}

fn tree(rest: &mut &str) -> Tree {
    if eat(rest, "[") {
        return Tree::List(until(rest, "]", tree));
    }
    let name = word(rest);
    if eat(rest, "(") {
        let mut inner = until(rest, ")", tree);
        // `Some(x)` is x: whether a kernel has something is said by its being there.
        return if inner.len() == 1 { inner.remove(0) } else { Tree::List(inner) };
    }
    if eat(rest, "{") {
        return Tree::Fields(name, until(rest, "}", field));
    }
    Tree::Word(name)
}

fn field(rest: &mut &str) -> (String, Tree) {
    let name = word(rest);
    eat(rest, ":");
    (name, tree(rest))
}

fn until<T>(rest: &mut &str, end: &str, item: fn(&mut &str) -> T) -> Vec<T> {
    let mut items = Vec::new();
    while !rest.is_empty() && !eat(rest, end) {
        items.push(item(rest));
        eat(rest, ",");
    }
    items
}

fn eat(rest: &mut &str, token: &str) -> bool {
    let trimmed = rest.trim_start();
    let found = trimmed.strip_prefix(token);
    *rest = found.unwrap_or(trimmed);
    found.is_some()
}

fn word(rest: &mut &str) -> String {
    *rest = rest.trim_start();
    let quoted = rest.strip_prefix('"').and_then(|text| text.split_once('"'));
    if let Some((word, after)) = quoted {
        *rest = after;
        return word.to_owned();
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && !"_.-+".contains(c)).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after;
    word.to_owned()
}

fn flatten(tree: &Tree, path: &str, flat: &mut Vec<(String, String)>) {
    match tree {
        Tree::Word(word) => flat.push((path.to_owned(), word.clone())),
        Tree::List(items) => flat.push((path.to_owned(), items.iter().map(inline).collect::<Vec<_>>().join(" "))),
        Tree::Fields(name, fields) => {
            // A group's type says nothing that its path doesn't; a variant's name is a value.
            if !path.is_empty() && !GROUPS.iter().any(|group| name.ends_with(group)) {
                flat.push((path.to_owned(), name.clone()));
            }
            for (name, tree) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(tree, &path, flat);
            }
        }
    }
}

fn inline(tree: &Tree) -> String {
    match tree {
        Tree::Word(word) => word.clone(),
        Tree::Fields(name, _) => name.clone(),
        Tree::List(items) => items.iter().map(inline).collect::<Vec<_>>().join(" "),
    }
}

fn to_json(tree: &Tree) -> Value {
    match tree {
        Tree::Word(word) => match word.as_str() {
            "None" => Value::Null,
            "true" => true.into(),
            "false" => false.into(),
            _ => word.parse::<u64>().map_or_else(|_| word.as_str().into(), Value::from),
        },
        Tree::List(items) => items.iter().map(to_json).collect(),
        Tree::Fields(name, fields) => {
            let variant = std::iter::once(("variant".to_owned(), Value::from(name.as_str())));
            let fields = fields.iter().map(|(name, tree)| (name.clone(), to_json(tree)));
            Value::Object(variant.chain(fields).collect::<Map<_, _>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[expect(dead_code, reason = "read through Debug")]
    struct Sample {
        name: &'static str,
        rule: Rule,
        maybe: Option<Rule>,
        none: Option<u32>,
        ratios: [u32; 3],
    }

    #[derive(Debug)]
    #[expect(dead_code, reason = "read through Debug")]
    enum Rule {
        Plain,
        With { batch: bool },
    }

    const SAMPLE: Sample = Sample {
        name: "linux-4.20+stall, posted",
        rule: Rule::Plain,
        maybe: Some(Rule::With { batch: true }),
        none: None,
        ratios: [256, 32, 0],
    };

    #[test]
    fn every_field_is_listed() {
        let flat = fields(&SAMPLE);
        let flat: Vec<_> = flat.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [
            ("name", "linux-4.20+stall, posted"),
            ("rule", "Plain"),
            ("maybe", "With"),
            ("maybe.batch", "true"),
            ("none", "None"),
            ("ratios", "256 32 0"),
        ];
        assert_eq!(flat, expected);
    }

    #[test]
    fn json_keeps_types() {
        let json = json(&SAMPLE);
        assert_eq!(json["maybe"]["batch"], true);
        assert_eq!(json["none"], Value::Null);
        assert_eq!(json["ratios"][0], 256);
    }
}
