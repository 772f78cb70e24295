//! Where the machine's own apt gets Debian from, and the same archives with other suites.
//!
//! No host is named here: mirror, transport and keys are the machine's. Both notations of `sources.list(5)` are read.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Debian's stable releases with kernels worth asking for, oldest first; they have backports and security updates. A mirror
/// that lacks one is no harm.
const STABLE: [&str; 2] = ["bookworm", "trixie"];
/// The archive's development suite, which has what the next release will have.
const UNSTABLE: &str = "sid";
/// Other releases that a machine's sources may name.
const OTHERS: [&str; 2] = ["bullseye", "forky"];
/// Names of releases that are not names of one release only.
const ALIASES: [&str; 5] = ["oldoldstable", "oldstable", "stable", "testing", "unstable"];

fn is_code_name(suite: &str) -> bool {
    STABLE.contains(&suite) || OTHERS.contains(&suite) || suite == UNSTABLE
}

/// An entry of the machine's sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Addresses of the archive.
    pub uris: Vec<String>,
    /// Suites.
    pub suites: Vec<String>,
    /// Components.
    pub components: Vec<String>,
    /// `Signed-By`: paths or fingerprints, or a whole key on lines of its own.
    pub signed_by: Option<String>,
}

/// Reads `sources.list`, one entry a line.
pub fn parse_one_line(text: &str) -> Vec<Entry> {
    text.lines().filter_map(one_line).collect()
}

fn one_line(line: &str) -> Option<Entry> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?;
    // Not `deb-src`.
    let rest = rest.starts_with([' ', '\t', '[']).then(|| rest.trim_start())?;
    let (options, rest) = match rest.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    let mut words = rest.split_whitespace().map(str::to_owned);
    Some(Entry {
        uris: vec![words.next()?],
        suites: vec![words.next()?],
        components: words.collect(),
        signed_by: signed_by.map(|keys| keys.replace(',', " ")),
    })
}

/// Reads a `.sources` file: paragraphs of fields, whose lines may go on after white space.
pub fn parse_deb822(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut paragraph = String::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            entries.extend(entry_of(&fields(&paragraph)));
            paragraph.clear();
        } else {
            paragraph.push_str(line);
            paragraph.push('\n');
        }
    }
    entries
}

fn fields(paragraph: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in paragraph.lines() {
        if line.starts_with([' ', '\t']) {
            let value: Option<&mut String> = current.as_ref().and_then(|name| fields.get_mut(name));
            if let Some(value) = value {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((name, value)) = line.split_once(':') {
            let name = name.trim().to_ascii_lowercase();
            fields.insert(name.clone(), value.trim().to_owned());
            current = Some(name);
        }
    }
    fields
}

fn entry_of(fields: &BTreeMap<String, String>) -> Option<Entry> {
    let words = |name: &str| -> Vec<String> {
        fields.get(name).map(|value| value.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    };
    let enabled = fields.get("enabled").is_none_or(|value| !["no", "false", "off", "0"].contains(&value.as_str()));
    let binary = words("types").iter().any(|kind| kind == "deb");
    (enabled && binary).then(|| Entry {
        uris: words("uris"),
        suites: words("suites"),
        components: words("components"),
        signed_by: fields.get("signed-by").filter(|value| !value.is_empty()).cloned(),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Archive {
    Main,
    Security,
}

/// Which of Debian's archives an entry is, by its suites; many a third party names its suites after Debian's, but signs with
/// a key of its own.
fn archive_of(entry: &Entry) -> Option<Archive> {
    let foreign_key = entry.signed_by.as_deref().is_some_and(|keys| {
        let embedded = keys.contains("BEGIN PGP");
        !embedded && !keys.split_whitespace().any(|key| key.contains("debian-archive"))
    });
    if foreign_key || !entry.components.iter().any(|component| component == "main") {
        return None;
    }
    entry.suites.iter().find_map(|suite| {
        let (release, part) = suite.split_once(['-', '/']).unwrap_or((suite, ""));
        let known = is_code_name(release) || ALIASES.contains(&release);
        match part {
            _ if !known => None,
            "" | "updates" if !suite.contains('/') => Some(Archive::Main),
            "backports" => Some(Archive::Main),
            "security" | "updates" => Some(Archive::Security),
            _ => None,
        }
    })
}

/// Sources with the machine's archives and all suites that may have kernels, as a `.sources` file. Nothing if the machine has
/// no Debian archive.
pub fn derive(entries: &[Entry]) -> Option<String> {
    let named =
        |entry: &&Entry| entry.suites.iter().any(|suite| is_code_name(suite.split('-').next().unwrap_or(suite)));
    let find = |wanted: Archive| {
        let mut found = entries.iter().filter(|entry| !entry.uris.is_empty() && archive_of(entry) == Some(wanted));
        // A code name says Debian more surely than `stable`, which other archives have, too.
        found.clone().find(named).or_else(|| found.next())
    };
    let main = find(Archive::Main)?;
    let mut suites: Vec<String> = STABLE.iter().map(|release| (*release).to_owned()).collect();
    suites.extend(STABLE.iter().map(|release| format!("{release}-backports")));
    suites.push(UNSTABLE.to_owned());
    let mut text = stanza(main, &suites);
    if let Some(security) = find(Archive::Security) {
        let suites: Vec<String> = STABLE.iter().map(|release| format!("{release}-security")).collect();
        text.push('\n');
        text.push_str(&stanza(security, &suites));
    }
    Some(text)
}

fn stanza(entry: &Entry, suites: &[String]) -> String {
    let mut text = String::new();
    // Only the lists of packages: no translations, no contents, no component metadata.
    let _infallible = write!(
        text,
        "Types: deb\nURIs: {}\nSuites: {}\nComponents: main\nArchitectures: amd64\nTargets: Packages\n",
        entry.uris.join(" "),
        suites.join(" ")
    );
    if let Some(keys) = &entry.signed_by {
        let _infallible = writeln!(text, "Signed-By: {keys}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEB822: &str = "\
# comment
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm
 bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://disabled.example
Suites: trixie
Components: main
";

    #[test]
    fn deb822_is_read_with_folded_lines_and_switched_off_entries() {
        let entries = parse_deb822(DEB822);
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].suites, ["bookworm", "bookworm-updates"]);
        assert_eq!(entries[1].uris, ["http://mirror.example/security"]);
    }

    #[test]
    fn one_line_entries_are_read_with_options() {
        let text = "# x\ndeb [arch=amd64 signed-by=/k/a.gpg,/k/b.gpg] http://m.example/debian trixie main contrib\n\
                    deb-src http://m.example/debian trixie main\ndeb http://n.example stable main # why\n";
        let entries = parse_one_line(text);
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].signed_by.as_deref(), Some("/k/a.gpg /k/b.gpg"));
        assert_eq!(entries[0].components, ["main", "contrib"]);
        assert_eq!(entries[1].uris, ["http://n.example"]);
    }

    #[test]
    fn suites_change_and_mirror_and_keys_stay() {
        let text = derive(&parse_deb822(DEB822)).unwrap();
        let entries = parse_deb822(&text);
        assert_eq!(entries[0].uris, ["http://mirror.example/debian"]);
        for suite in ["bookworm", "trixie", "trixie-backports", "sid"] {
            assert!(entries[0].suites.iter().any(|found| found == suite), "{suite}");
        }
        assert_eq!(entries[1].uris, ["http://mirror.example/security"]);
        assert!(entries[1].suites.contains(&"trixie-security".to_owned()));
        assert!(
            entries.iter().all(|entry| entry.signed_by.as_deref().is_some_and(|key| key.contains("debian-archive")))
        );
        assert!(!text.contains("disabled.example"));
    }

    #[test]
    fn third_parties_are_not_debian() {
        let third = "deb [signed-by=/k/browser.gpg] http://browser.example stable main\n\
                     deb http://tool.example tool-bookworm main\ndeb http://other.example stable nonmain\n";
        assert_eq!(derive(&parse_one_line(third)), None);
        let unsigned = "deb http://third.example stable main\ndeb http://m.example/debian bookworm main\n";
        let derived = derive(&parse_one_line(unsigned)).unwrap();
        assert!(derived.contains("m.example") && !derived.contains("third.example"));
    }

    #[test]
    fn a_key_inside_the_file_is_kept_whole() {
        let text = "Types: deb\nURIs: http://m.example\nSuites: trixie\nComponents: main\nSigned-By:\n -----BEGIN PGP PUBLIC \
                    KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----\n";
        let derived = derive(&parse_deb822(text)).unwrap();
        assert!(derived.contains("\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"), "{derived}");
    }
}
