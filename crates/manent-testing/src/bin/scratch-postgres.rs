//! Runs a PostgreSQL for as long as its standard input is open, and prints its address: one server for a whole test run.

use manent_testing::postgres::Postgres;
use std::io::Read;

fn main() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    // Nothing of it outlives the run, so nothing waits for the disk; what must survive a crash has a server of its own.
    let settings = ["fsync=off", "synchronous_commit=off", "max_connections=300"];
    let postgres = Postgres::start(folder.path(), &settings)?;
    println!("{}", postgres.url());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    drop(postgres);
    Ok(())
}
