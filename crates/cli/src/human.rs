//! Numbers as people read them.

/// An integer with its digits in groups of three.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many there are of something that has its plural with an s.
pub(crate) fn counted(number: u64, name: &str) -> String {
    format!("{} {name}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A quantity with an SI prefix, three or four digits.
pub(crate) fn si(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 10] = ["p", "n", "µ", "m", "", "k", "M", "G", "T", "P"];
    if value == 0.0 || !value.is_finite() {
        return format!("{} {unit}", short(value));
    }
    // The exponent of a float is far inside what an i32 holds.
    let thousands = (value.abs().log10() / 3.0 + 1e-12).floor().clamp(-4.0, 5.0) as i32;
    format!("{} {}{unit}", short(value / 1000f64.powi(thousands)), PREFIXES[(thousands + 4) as usize])
}

/// A float in up to six digits, without trailing zeros.
pub(crate) fn short(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e15).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    if value.fract() == 0.0 {
        return format!("{value}");
    }
    let whole_digits = value.abs().log10().floor().max(0.0) as usize + 1;
    let text = format!("{value:.*}", 6usize.saturating_sub(whole_digits).max(1));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn plurals() {
        assert_eq!(counted(0, "stream"), "0 streams");
        assert_eq!(counted(1, "stream"), "1 stream");
        assert_eq!(counted(2000, "stream"), "2,000 streams");
    }

    #[test]
    fn si_prefixes() {
        assert_eq!(si(24e6, "Hz"), "24 MHz");
        assert_eq!(si(1000.0, "Hz"), "1 kHz");
        assert_eq!(si(0.5, "Hz"), "500 mHz");
        assert_eq!(si(0.0, "s"), "0 s");
        assert_eq!(si(1.668_502_1, "s"), "1.6685 s");
        assert_eq!(si(1e300, "s"), "1.000e285 Ps");
        assert_eq!(si(f64::INFINITY, "s"), "inf s");
    }
}
