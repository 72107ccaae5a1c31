//! Description of the machine and date of the measurement.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the report says about the machine and the moment.
pub struct Machine {
    /// The model of the processor.
    pub processor: String,
    /// How many cores this program may use.
    pub cores: usize,
    /// The version of the kernel.
    pub kernel: String,
    /// The filesystem under the data.
    pub filesystem: String,
    /// The day, as `year-month-day` in UTC.
    pub date: String,
}

impl Machine {
    /// Describes this machine, now, with the filesystem that holds `directory`.
    pub fn of(directory: &Path) -> Machine {
        let unknown = || "unknown".to_string();
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Machine {
            processor: processor_model(&processors).unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").map_or_else(|_| unknown(), |it| it.trim().into()),
            filesystem: filesystem(&mounts, &directory).unwrap_or_else(unknown),
            date: date(since_epoch.as_secs() / 86_400),
        }
    }
}

fn processor_model(processors: &str) -> Option<String> {
    let line = processors.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

/// Returns the type of the mount that holds `directory`: the longest matching one, of equals the later.
fn filesystem(mounts: &str, directory: &Path) -> Option<String> {
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (_device, folder, kind) = (fields.next()?, fields.next()?, fields.next()?);
            directory.starts_with(folder).then_some((folder.len(), kind))
        })
        .max_by_key(|(length, _)| *length)
        .map(|(_, kind)| kind.to_string())
}

/// Turns days since 1970-01-01 into a date.
///
/// Counts years from March, so that the leap day is the last day of a year and months follow one formula.
fn date(days_since_epoch: u64) -> String {
    let days = days_since_epoch + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(11_017), "2000-03-01");
        assert_eq!(date(20_453), "2025-12-31");
        assert_eq!(date(47_541), "2100-03-01");
    }

    #[test]
    fn the_innermost_mount_counts() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmpfiles xfs rw 0 0\n";
        let of = |directory| filesystem(mounts, Path::new(directory)).expect("the root is mounted");
        assert_eq!(of("/tmp/data"), "tmpfs");
        assert_eq!(of("/tmpfiles/data"), "xfs");
        assert_eq!(of("/home"), "ext4");
    }

    #[test]
    fn the_processor_is_named() {
        let processors = "processor\t: 0\nmodel name\t: AMD EPYC\nprocessor\t: 1\nmodel name\t: AMD EPYC\n";
        assert_eq!(processor_model(processors).as_deref(), Some("AMD EPYC"));
    }
}
