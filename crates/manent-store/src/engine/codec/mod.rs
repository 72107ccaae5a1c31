//! Encoding of rows: enum codes, message headers, MACs, before-images and source records.

pub(crate) mod message_header;
pub(crate) mod source_record;
pub(crate) mod document_name;
pub(crate) mod disk_codes;
pub(crate) mod body_mac;
pub(crate) mod row_mac;
pub(crate) mod before_image;
