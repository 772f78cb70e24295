//! The macros that make types and decoders from tables of events.

/// The key that precedes a field in text: its own name and `=`, unless the table gives another.
macro_rules! text_key {
    ($field:ident) => {
        concat!(stringify!($field), "=")
    };
    ($field:ident $key:literal) => {
        $key
    };
}

/// The events of one trace system, each a struct that is [`Recorded`](super::recorded::Recorded):
/// `"kernel name" => Name { field: Type => Codec, "text key"; }`.
macro_rules! events {
    ($(
        $(#[$doc:meta])*
        $kernel_name:literal => $event:ident {
            $(
                $(#[$field_doc:meta])*
                $field:ident: $type:ty => $codec:ty $(, $key:literal)?;
            )*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub struct $event {
                $($(#[$field_doc])* pub $field: $type,)*
            }

            impl $crate::event::recorded::Recorded for $event {
                const NAME: &'static str = $kernel_name;
                type Layout = layout::$event;

                fn layout(format: &$crate::format::Format) -> Result<Self::Layout, Box<str>> {
                    Ok(layout::$event {
                        $($field: $crate::codec::Codec::<$type>::resolve(
                            format,
                            stringify!($field),
                            text_key!($field $($key)?),
                        )?,)*
                    })
                }

                #[inline]
                fn read(layout: &Self::Layout, record: &[u8]) -> Option<Self> {
                    Some(Self { $($field: $crate::codec::Codec::<$type>::read(&layout.$field, record)?,)* })
                }

                fn text(payload: &[u8], gfp: &mut $crate::gfp::GfpNames) -> Result<Self, &'static str> {
                    Ok(Self {
                        $($field: {
                            let key = text_key!($field $($key)?);
                            <$codec as $crate::codec::Codec<$type>>::text(payload, key, gfp).ok_or(key)?
                        },)*
                    })
                }
            }
        )*

        /// One struct per event: where its fields lie in one file's records.
        pub(crate) mod layout {
            use super::*;
            $(pub(crate) struct $event { $(pub(super) $field: $codec,)* })*
        }
    };
}

/// The union of all events that are [`Recorded`](super::recorded::Recorded), and what is not: `Name(Storage)`.
macro_rules! all_events {
    ($($event:ident($storage:ty),)*) => {
        /// What a record tells: one variant for every event that matters to memory management.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Event {
            $(#[doc = concat!("See [`", stringify!($event), "`].")] $event($storage),)*
            /// Text that user space wrote into `trace_marker` (ftrace:print).
            Marker(Marker),
            /// The kernel overwrote or dropped events here.
            Lost(Lost),
            /// Any other event, known by name only.
            Other(Other),
        }

        /// The kind of an event, for counting.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum EventKind {
            $(#[doc = concat!("See [`", stringify!($event), "`].")] $event,)*
            /// See [`Event::Marker`].
            Marker,
            /// See [`Event::Lost`].
            Lost,
            /// See [`Event::Other`].
            Other,
        }

        impl EventKind {
            /// All kinds, in the order of their numbers.
            pub const ALL: &'static [Self] =
                &[$(Self::$event,)* Self::Marker, Self::Lost, Self::Other];

            /// The kernel's name of the event; `print` for markers, `lost` and `other` for the
            /// kinds that the kernel has no name for.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$event => <$event as Recorded>::NAME,)*
                    Self::Marker => "print",
                    Self::Lost => "lost",
                    Self::Other => "other",
                }
            }
        }

        impl Event {
            /// The event's kind.
            pub fn kind(&self) -> EventKind {
                match self {
                    $(Self::$event(_) => EventKind::$event,)*
                    Self::Marker(_) => EventKind::Marker,
                    Self::Lost(_) => EventKind::Lost,
                    Self::Other(_) => EventKind::Other,
                }
            }
        }

        /// The way to decode the records of one event of one file.
        pub(crate) enum Decoder {
            $($event(<$event as Recorded>::Layout),)*
            /// The marker's text.
            Marker(Text),
            /// An event that is known by name only.
            Other(Arc<str>),
            /// An event that lacks a needed field: an error as soon as one is met.
            Unusable {
                /// The event's name.
                event: Box<str>,
                /// What is wrong with its format.
                problem: Box<str>,
            },
        }

        impl Decoder {
            /// Finds the fields of the event that `format` describes.
            fn resolve(format: &Format) -> Result<Self, Box<str>> {
                Ok(match &*format.name {
                    $(<$event as Recorded>::NAME => Self::$event(<$event as Recorded>::layout(format)?),)*
                    "print" => Self::Marker(Codec::<Box<str>>::resolve(format, "buf", "buf")?),
                    name => Self::Other(name.into()),
                })
            }

            /// Decodes a record; `None` if the record is too short for a needed field, or unusable.
            #[inline]
            pub(crate) fn decode(&self, record: &[u8]) -> Option<Event> {
                Some(match self {
                    $(Self::$event(layout) => Event::$event(<$event as Recorded>::read(layout, record)?.into()),)*
                    Self::Marker(text) => Event::Marker(Marker {
                        text: Codec::<Box<str>>::read(text, record)?.trim_end().into(),
                    }),
                    Self::Other(name) => Event::Other(Other { name: Arc::clone(name) }),
                    Self::Unusable { .. } => return None,
                })
            }
        }

        /// Parses the text that follows an event's name. `None` for events that are known by name only; an error is the
        /// key of the field that is missing or not understood.
        pub(crate) fn parse_text(
            name: &[u8],
            payload: &[u8],
            gfp: &mut GfpNames,
        ) -> Result<Option<Event>, &'static str> {
            $(
                if name == <$event as Recorded>::NAME.as_bytes() {
                    return Ok(Some(Event::$event(<$event as Recorded>::text(payload, gfp)?.into())));
                }
            )*
            Ok(None)
        }
    };
}
