//! Numbers as the quantities that they stand for.

use alloc::format;
use alloc::vec::Vec;

use super::descriptor::brief;
use super::{EntityId, Kind, Object, Schema, Value};
use crate::error::{Error, ErrorKind};

/// What makes a quantity of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// `number:scale`: the number is multiplied by it.
    pub factor: f64,
    /// `number:offset`: it is added then.
    pub offset: f64,
}

impl Scale {
    /// The quantity that a number stands for.
    #[must_use]
    pub fn quantity(self, number: f64) -> f64 {
        // As two steps: a fused one would differ in the last digit from machine to machine.
        number * self.factor + self.offset
    }

    /// Whether every number stands for itself.
    #[must_use]
    pub fn is_identity(self) -> bool {
        self.factor == 1.0 && self.offset == 0.0
    }
}

impl Schema {
    /// `number:scale` and `number:offset` of an entity; 1 and 0 where it has none.
    ///
    /// # Errors
    /// When one of them is not a number, or one beyond the range of a double.
    pub fn scale(&self, entity: EntityId) -> Result<Scale, Error> {
        self.scale_of(entity, self[entity].attributes())
    }

    /// The scales that the fields of a `tuple` give its elements, one after the other; none for any other entity.
    ///
    /// # Errors
    /// As [`scale`](Self::scale).
    pub fn tuple_scales(&self, entity: EntityId) -> Result<Vec<Scale>, Error> {
        let Kind::Tuple { fields } = self[entity].kind() else { return Ok(Vec::new()) };
        fields.iter().map(|(_, attributes)| self.scale_of(entity, attributes)).collect()
    }

    fn scale_of(&self, entity: EntityId, attributes: &Object) -> Result<Scale, Error> {
        let number = |name, default| match attributes.get(name) {
            None => Ok(default),
            Some(value) => value.as_f64().ok_or_else(|| self.not_a_number(entity, name, value)),
        };
        Ok(Scale { factor: number("number:scale", 1.0)?, offset: number("number:offset", 0.0)? })
    }

    fn not_a_number(&self, entity: EntityId, name: &str, value: &Value) -> Error {
        let expected = "expected a number within the range of a double";
        let pointer = format!("{}", self.entity_pointer(entity));
        let error = Error::new("entity", ErrorKind::Invalid(expected)).item(pointer);
        error.detail(format!("`{name}` is {}", brief(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn scale(attributes: &str) -> Result<Scale, Error> {
        let text = format!(r#"{{"entity":{{"type":"group","children":{{}}{attributes}}}}}"#);
        let schema = Schema::parse(text.as_bytes(), &Limits::default()).unwrap();
        schema.scale(schema.root())
    }

    #[test]
    fn scales() {
        assert!(scale("").unwrap().is_identity());
        let scale_of = scale(r#","number:scale":0.50,"number:offset":-3"#).unwrap();
        assert_eq!((scale_of, scale_of.quantity(4.0)), (Scale { factor: 0.5, offset: -3.0 }, -1.0));
        for (attribute, says) in [("\"1\"", "`number:scale` is \"1\""), ("1e400", "`number:scale` is 1e400")]
        {
            let error = scale(&format!(r#","number:scale":{attribute}"#)).unwrap_err();
            assert!(format!("{error}").contains(says), "{error}");
        }
        let digits = "9".repeat(400);
        let error = scale(&format!(r#","number:offset":{digits}"#)).unwrap_err();
        assert!(format!("{error}").contains("`number:offset` is a long number"), "{error}");
    }
}
