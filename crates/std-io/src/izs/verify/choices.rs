//! Tags of `tagged` fields and values of `enum`, wherever these lie in their element.

use core_codec::izs::model::{EntityId, Field, Kind, StreamId};

use super::Verifier;
use super::ends::unknown_tag;
use super::watch::{Part, Watch};

/// Fields of which only some values mean something.
#[derive(Default)]
pub(super) struct Choices<'a>(Vec<Choice<'a>>);

/// An `enum`, or the tag of a `tagged`.
struct Choice<'a> {
    field: Field<'a>,
    /// Values that mean something, from 0.
    known: u64,
    /// The choices in each variant of a `tagged`.
    below: Vec<Choices<'a>>,
    /// Element and value.
    unknown: Option<(u64, u64)>,
}

impl<'a> Choices<'a> {
    /// Those of an entity in the elements of a stream.
    pub(super) fn of(verifier: &Verifier<'a>, stream: StreamId, id: EntityId) -> Self {
        let mut choices = Self::default();
        choices.add(verifier, stream, id);
        choices
    }

    fn add(&mut self, verifier: &Verifier<'a>, stream: StreamId, id: EntityId) {
        let schema = verifier.schema;
        let children = schema[id].children().iter();
        let (known, below, bits) = match schema[id].kind() {
            Kind::BitStruct => return children.for_each(|&child| self.add(verifier, stream, child)),
            Kind::Enum { bits, values } => (values.len() as u64, Vec::new(), *bits),
            Kind::Tagged { tag_bits } => {
                let below = children.map(|&child| Self::of(verifier, stream, child));
                (below.len() as u64, below.collect(), *tag_bits)
            }
            _ => return,
        };
        // One that has a stream of its own, which it should not, is not in this.
        let fields = schema.fields(id).filter(|(own, _)| *own == stream);
        let Some(field) = fields.and_then(|(_, fields)| fields.into_iter().next()) else { return };
        // Of one that is not inside its element it is told already.
        if field.position.saturating_add(field.width) <= verifier.element_bits(stream) {
            let field = Field { width: bits.into(), ..field };
            self.0.push(Choice { field, known, below, unknown: None });
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|choice| 1 + choice.below.iter().map(Self::count).sum::<u64>()).sum()
    }

    fn look_at(&mut self, index: u64, element: u64) {
        for choice in &mut self.0 {
            let value = choice.field.bits(element);
            if value >= choice.known {
                choice.unknown.get_or_insert((index, value));
            } else if let Some(below) = usize::try_from(value).ok().and_then(|tag| choice.below.get_mut(tag))
            {
                below.look_at(index, element);
            }
        }
    }
}

impl Watch for Choices<'_> {
    fn look(&mut self, part: &Part) {
        part.elements().for_each(|(index, element)| self.look_at(index, element));
    }

    fn tell(&self, verifier: &mut Verifier) {
        for Choice { field, known, below, unknown } in &self.0 {
            let pointer = verifier.schema.entity_pointer(field.entity);
            match (unknown, field.kind) {
                (Some((index, value)), Kind::Enum { .. }) => {
                    let message = format!("element {index} has value {value}, there are {known} names");
                    verifier.warning(pointer, message);
                }
                (Some((index, tag)), _) => verifier.error(pointer, unknown_tag(*index, *tag, *known)),
                (None, _) => {}
            }
            below.iter().for_each(|below| below.tell(verifier));
        }
    }
}
