//! The init of the guest, `fraglab-guest`: found, or built from the source tree.

use super::error::VmError;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the binary, and wins over everything else.
pub const VARIABLE: &str = "FRAGLAB_GUEST";
const NAME: &str = "fraglab-guest";
const PROFILE: &str = "guest";
const MUSL: &str = "x86_64-unknown-linux-musl";
const GLIBC: &str = "x86_64-unknown-linux-gnu";

/// The binary: `$FRAGLAB_GUEST`; built anew if fraglab lies in its source tree, so that both are of one version; else the one
/// beside the executable; else built in the source tree that fraglab is run in.
pub fn find() -> Result<PathBuf, VmError> {
    if let Some(path) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(path);
        let gone = |error| VmError::Guest(format!("{VARIABLE} names {}: {error}", path.display()));
        return path.canonicalize().map_err(gone);
    }
    let executable = env::current_exe().unwrap_or_default();
    if let Some(tree) = tree_above(&executable) {
        return build(&tree);
    }
    let beside = executable.with_file_name(NAME);
    if beside.is_file() {
        return Ok(beside);
    }
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).or_else(|| env::current_dir().ok());
    if let Some(tree) = here.as_deref().and_then(tree_above) {
        return build(&tree);
    }
    Err(VmError::Guest(format!(
        "the init of the virtual machine, {NAME}, is not beside {}: build it in fraglab's source tree with `cargo build \
         --profile {PROFILE} --package guest --target {MUSL}` and name it in {VARIABLE}",
        executable.display()
    )))
}

/// The source tree that a path lies in.
fn tree_above(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|above| is_tree(above)).map(Path::to_owned)
}

fn is_tree(path: &Path) -> bool {
    path.join("crates/guest/Cargo.toml").is_file() && path.join("Cargo.lock").is_file()
}

fn build(tree: &Path) -> Result<PathBuf, VmError> {
    let target = if has_target(tree, MUSL) { MUSL } else { GLIBC };
    let mut cargo = Command::new(env::var_os("CARGO").as_deref().unwrap_or(OsStr::new("cargo")));
    cargo.current_dir(tree).args(["build", "--quiet", "--locked", "--package", "guest", "--bin", NAME]);
    cargo.args(["--profile", PROFILE, "--target", target, "--message-format", "json-render-diagnostics"]);
    if target == GLIBC {
        cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
    }
    let output = cargo.output().map_err(|error| {
        VmError::Guest(format!("cargo, which builds {NAME} in {}, does not start: {error}", tree.display()))
    })?;
    if !output.status.success() {
        return Err(VmError::Guest(format!("building {NAME} failed:\n{}", String::from_utf8_lossy(&output.stderr))));
    }
    executable_in(&output.stdout).ok_or_else(|| VmError::Guest(format!("cargo did not say where it put {NAME}")))
}

/// The executable that cargo's messages name.
fn executable_in(messages: &[u8]) -> Option<PathBuf> {
    let lines = messages.split(|byte| *byte == b'\n');
    let values = lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    values.filter_map(|value| value["executable"].as_str().map(PathBuf::from)).next_back()
}

/// Whether the toolchain of the tree has a target's standard library.
fn has_target(tree: &Path, target: &str) -> bool {
    let output =
        Command::new("rustc").current_dir(tree).args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_tree_is_found_from_below() {
        let directory = tempfile::tempdir().unwrap();
        let executable = directory.path().join("target/debug/fraglab");
        assert_eq!(tree_above(&executable), None);
        std::fs::create_dir_all(directory.path().join("crates/guest")).unwrap();
        for file in ["crates/guest/Cargo.toml", "Cargo.lock"] {
            std::fs::write(directory.path().join(file), "").unwrap();
        }
        assert_eq!(tree_above(&executable).as_deref(), Some(directory.path()));
    }

    #[test]
    fn cargo_says_where_the_binary_is() {
        let messages = b"{\"reason\":\"compiler-artifact\",\"executable\":null}\n{\"executable\":\"/x/fraglab-guest\"}\nnot json\n";
        assert_eq!(executable_in(messages), Some(PathBuf::from("/x/fraglab-guest")));
        assert_eq!(executable_in(b""), None);
    }
}
