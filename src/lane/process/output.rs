//! What a run prints: the beginning and the end are kept, whatever lies between is counted.

use std::collections::VecDeque;

/// Bytes kept of the beginning, and of the end.
const KEPT: usize = 32 * 1024;

#[derive(Default)]
pub struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    written: u64,
}

impl Output {
    pub fn add(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        let to_head = bytes.len().min(KEPT - self.head.len());
        self.head.extend_from_slice(&bytes[..to_head]);
        let rest = &bytes[to_head..];
        let rest = &rest[rest.len().saturating_sub(KEPT)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(KEPT);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    pub fn written(&self) -> u64 {
        self.written
    }

    /// Decoded lossily; a line tells what was left out.
    pub fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let left_out = self.written - (self.head.len() + tail.len()) as u64;
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&tail);
        match left_out {
            0 => format!("{head}{tail}"),
            bytes => format!("{head}\n… {bytes} bytes left out …\n{tail}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept_and_the_rest_is_counted() {
        let mut output = Output::default();
        output.add(b"first\n");
        for _ in 0..100 {
            output.add(&[b'x'; 10_000]);
        }
        output.add(b"\nlast");
        assert!(output.head.len() <= KEPT && output.tail.len() <= KEPT);
        assert_eq!(output.written(), 6 + 1_000_000 + 5);
        let text = output.text();
        assert!(text.starts_with("first\n") && text.ends_with("\nlast"));
        assert!(text.contains(&format!("… {} bytes left out …", 1_000_011 - 2 * KEPT)));
    }

    #[test]
    fn a_short_output_is_whole_however_it_is_cut() {
        let bytes: Vec<u8> = (0..KEPT + 1000).map(|at| b'a' + (at % 26) as u8).collect();
        for cut in [1, 7, 4096, KEPT, KEPT + 999] {
            let mut output = Output::default();
            for piece in bytes.chunks(cut) {
                output.add(piece);
            }
            assert_eq!(output.text().as_bytes(), bytes, "pieces of {cut}");
        }
    }
}
