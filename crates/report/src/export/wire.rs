//! The protobuf wire format, as far as a trace needs it (<https://protobuf.dev/programming-guides/encoding>).

/// A message being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

impl Message {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A number.
    pub fn number(mut self, field: u64, value: u64) -> Message {
        self.varint(field << 3 | VARINT);
        self.varint(value);
        self
    }

    /// A double.
    pub fn double(mut self, field: u64, value: f64) -> Message {
        self.varint(field << 3 | FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A text.
    pub fn text(self, field: u64, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    /// A message inside.
    pub fn message(self, field: u64, message: &Message) -> Message {
        self.bytes(field, &message.0)
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    /// The examples of the format's own description: `150` in field 1, `testing` in field 2, a message of the former in 3.
    #[test]
    fn examples_of_the_description() {
        assert_eq!(Message::default().number(1, 150).as_bytes(), [0x08, 0x96, 0x01]);
        let text = Message::default().text(2, "testing");
        assert_eq!(text.as_bytes(), [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let inner = Message::default().number(1, 150);
        assert_eq!(Message::default().message(3, &inner).as_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }
}
