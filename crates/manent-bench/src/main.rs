//! Benchmarks of Manent, of lower bounds and of peers in one run, side by side.
//!
//! Absolute numbers depend on the machine and the moment, so nothing here is compared with a number from another run:
//! every round measures every subject once, and the table shows ratios between neighbours.
//!
//! In reading order: the operations ([`measure`]), the subjects ([`subject`], then [`raw_log`], [`lmdb`], [`peer`],
//! [`web`], [`server`], [`select`], [`pgbench`]), their data ([`corpus`]), timing ([`drive`], [`summary`]), rounds
//! ([`rounds`]), imports of large files ([`formats`]), search ([`search`]), many tenants ([`tenants`]), scaling
//! ([`growth`]), goals ([`goal`]) and the report ([`table`], [`machine`]).

mod corpus;
mod drive;
mod facts;
mod formats;
mod goal;
mod group_log;
mod growth;
mod lmdb;
mod load;
mod machine;
mod manent;
mod measure;
mod options;
mod peer;
mod pgbench;
mod python;
mod raw_log;
mod rounds;
mod search;
mod select;
mod server;
mod subject;
mod summary;
mod table;
mod tenants;
mod web;

use std::path::Path;

use anyhow::{Context, Result};

use crate::corpus::Corpus;
use crate::facts::Facts;
use crate::machine::Machine;
use crate::options::Options;
use crate::rounds::Results;
use crate::subject::Subject;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    if std::env::args().nth(1).is_some_and(|argument| argument == web::SERVE_NOTHING) {
        return web::serve_nothing();
    }
    let all: Vec<String> = std::env::args().skip(1).collect();
    if all.first().is_some_and(|first| first == formats::ALONE) {
        return formats::run_alone(&all[1..]);
    }
    if let (Some(first), Some(path)) = (arguments.next(), arguments.next())
        && first == facts::RESIDENT
    {
        return facts::look_from_outside(Path::new(&path));
    }
    let options = Options::from_arguments(std::env::args().skip(1))?;
    std::fs::create_dir_all(&options.directory).with_context(|| format!("creating {}", options.directory.display()))?;
    let workspace = tempfile::Builder::new()
        .prefix("bench-data-")
        .tempdir_in(&options.directory)
        .with_context(|| format!("creating a folder in {}", options.directory.display()))?;

    let corpus = Corpus::new(corpus::SEED, options.scale.conversations, options.scale.messages);
    if options.search {
        println!("{}", table::facts(&search::of(workspace.path(), &corpus)?));
        return Ok(());
    }
    if options.tenants {
        println!("{}", table::facts(&tenants::of(workspace.path())?));
        return Ok(());
    }
    if options.growth {
        println!("{}", table::facts(&growth::of(workspace.path(), options.scale.growth_conversations)?));
        return Ok(());
    }
    let imports = formats::of(workspace.path(), options.scale.import_bytes)?;
    if options.formats {
        println!("{}", table::facts(&imports));
        return Ok(());
    }
    let search = search::of(workspace.path(), &corpus)?;
    let tenants = tenants::of(workspace.path())?;
    let growth = growth::of(workspace.path(), options.scale.growth_conversations)?;
    let store = manent::Manent::load(workspace.path(), &corpus, &measure::LENGTHS)?;
    let path = store.path().to_owned();
    let mut subjects = subjects(workspace.path(), &corpus, store)?;
    let results = Results::measure(&mut subjects, &options.scale);
    // Closing the stores leaves nothing in their WALs, so that the file is all there is.
    drop(subjects);
    let facts = Facts { store: facts::of(&path, &corpus)?, search, imports, tenants, growth };
    let report = table::report(&results, &facts, &Machine::of(workspace.path()), &options.scale);
    println!("{report}");
    if let Some(path) = &options.write {
        std::fs::write(path, report).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Returns everything that takes part, each ready to be measured.
///
/// This list is the one place to add to: the rounds and the table follow from it.
fn subjects(directory: &Path, corpus: &Corpus, store: manent::Manent) -> Result<Vec<Box<dyn Subject>>> {
    let mut subjects: Vec<Box<dyn Subject>> = vec![
        Box::new(raw_log::RawLog::create(directory, corpus)?),
        Box::new(store),
        Box::new(lmdb::Lmdb::load(directory, corpus)?),
    ];
    for peer in peer::all(directory)? {
        subjects.push(Box::new(peer));
    }
    for server in web::all(directory)? {
        subjects.push(Box::new(server));
    }
    let server = server::start(directory);
    subjects.push(Box::new(server::OnServer::load(&server, corpus)));
    subjects.push(Box::new(select::Select::prepare(&server)));
    subjects.push(Box::new(pgbench::Pgbench::prepare(server)));
    Ok(subjects)
}
