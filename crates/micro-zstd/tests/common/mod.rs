//! Encoding, and decoding with both decoders.

use micro_zstd::FrameEncoder;

/// The frame of `content`, given to the encoder in pieces of the given lengths, again and again.
pub(crate) fn encode<E: FrameEncoder>(
    encoder: &mut E,
    size: Option<u64>,
    content: &[u8],
    pieces: &[usize],
) -> Vec<u8> {
    let mut frame = Vec::new();
    encoder.start(size);
    let mut lengths = pieces.iter().cycle();
    let mut rest = content;
    while !rest.is_empty() {
        let (mut piece, behind) = rest.split_at(rest.len().min(*lengths.next().unwrap()));
        while !piece.is_empty() {
            let encoded = encoder.encode(piece);
            assert!(encoded.taken > 0 || !encoded.output.is_empty(), "no progress");
            frame.extend_from_slice(encoded.output);
            piece = &piece[encoded.taken..];
        }
        rest = behind;
    }
    while let Some(output) = encoder.finish() {
        assert!(!output.is_empty());
        frame.extend_from_slice(output);
    }
    assert!(encoder.finish().is_none());
    frame
}

/// Decodes with the C library, which verifies the checksum, and with ruzstd.
pub(crate) fn assert_decodes(frame: &[u8], content: &[u8], name: &str) {
    let mut out = vec![0; content.len() + 1];
    match zstd_safe::decompress(&mut out[..], frame) {
        Ok(len) => assert!(out[..len] == *content, "{name}: C decodes something else"),
        Err(code) => panic!("{name}: C: {}", zstd_safe::get_error_name(code)),
    }
    let mut decoder = ruzstd::decoding::FrameDecoder::new();
    let len = decoder.decode_all(frame, &mut out).unwrap_or_else(|error| panic!("{name}: ruzstd: {error}"));
    assert!(out[..len] == *content, "{name}: ruzstd decodes something else");
}

/// Encodes `content` in several ways with one encoder, and checks what every encoder promises. Returns the length
/// of the frame of unknown size.
pub(crate) fn check<E: FrameEncoder>(encoder: &mut E, content: &[u8], name: &str) -> usize {
    // A frame before must not matter: one that leaves other things behind than the content does.
    encode(encoder, None, content.get(content.len() / 3..).unwrap_or_default(), &[usize::MAX]);
    let known = Some(content.len() as u64);
    let whole = encode(encoder, known, content, &[usize::MAX]);
    assert_decodes(&whole, content, name);
    let unknown = encode(encoder, None, content, &[usize::MAX]);
    assert_decodes(&unknown, content, name);
    let bound = E::max_output(content.len() as u64);
    assert!(whole.len().max(unknown.len()) as u64 <= bound, "{name}: {} bytes, bound {bound}", whole.len());
    for pieces in [&[1][..], &[2, 3, 5, 7, 11], &[13, 1, 64, 500, 4096]] {
        assert!(encode(encoder, known, content, pieces) == whole, "{name}: depends on the split {pieces:?}");
        assert!(encode(encoder, None, content, pieces) == unknown, "{name}: depends on the split {pieces:?}");
    }
    unknown.len()
}
