//! `fraglab-guest`: process 1 of the virtual machines that fraglab boots.

fn main() {
    if std::process::id() != 1 {
        eprintln!(
            "fraglab-guest is the init of fraglab's virtual machines and does nothing elsewhere: see fraglab vm run"
        );
        std::process::exit(2);
    }
    guest::init::run();
}
