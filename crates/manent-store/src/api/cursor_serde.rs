//! Cursor serialization: an opaque text that clients send back unchanged.

/// Writes and reads a cursor as the text that it shows and is parsed from.
macro_rules! serde_as_text {
    ($cursor:ident) => {
        impl serde::Serialize for $cursor {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $cursor {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $cursor {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($cursor).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let description = "Where a page ends; hand it back to get the next one.";
                schemars::json_schema!({ "type": "string", "description": description })
            }
        }
    };
}
pub(crate) use serde_as_text;
