//! Naming entities and streams: JSON pointers (RFC 6901) and paths of names.

use alloc::borrow::Cow;
use core::fmt;

use super::{EntityId, Link, Role, Schema, StreamId};

/// What an item names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An entity.
    Entity(EntityId),
    /// A stream.
    Stream(StreamId),
}

impl Schema {
    /// The entity with this path of names, such as `adc/ch0`. The inner entity of an array or tuple needs no
    /// name; the empty path is the root.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<EntityId> {
        let mut names = path.split('/');
        if path.is_empty() {
            return Some(self.root());
        }
        names.try_fold(self.root(), |at, name| self.child_named(at, name))
    }

    /// The item that a JSON pointer (it starts with `/`) or a path of names names.
    #[must_use]
    pub fn find_item(&self, item: &str) -> Option<Target> {
        match item.strip_prefix('/') {
            Some(pointer) => self.resolve(pointer),
            None => self.find(item).map(Target::Entity),
        }
    }

    /// JSON pointer of an entity in the schema.
    #[must_use]
    pub fn entity_pointer(&self, entity: EntityId) -> EntityPointer<'_> {
        EntityPointer { schema: self, entity }
    }

    /// JSON pointer of a stream descriptor in the schema.
    #[must_use]
    pub fn stream_pointer(&self, stream: StreamId) -> StreamPointer<'_> {
        StreamPointer { schema: self, stream }
    }

    /// Path of names of an entity, which [`find`](Self::find) resolves unless a name is empty or has a slash. The
    /// [pointer](Self::entity_pointer) always leads back.
    #[must_use]
    pub fn entity_path(&self, entity: EntityId) -> EntityPath<'_> {
        EntityPath { schema: self, entity }
    }

    fn child_named(&self, entity: EntityId, name: &str) -> Option<EntityId> {
        let children = self[entity].children();
        let direct = children.iter().find(|&&child| match &self[child].link {
            Link::Inner(key) => *key == name,
            _ => self[child].name() == Some(name),
        });
        direct.copied().or_else(|| {
            let inner = children.iter().find(|&&child| matches!(self[child].link, Link::Inner(_)))?;
            self.child_named(*inner, name)
        })
    }

    fn resolve(&self, pointer: &str) -> Option<Target> {
        let mut steps = pointer.split('/').map(unescape);
        let mut at = (steps.next()? == "entity").then(|| self.root())?;
        while let Some(step) = steps.next() {
            let entity = &self[at];
            let stream = match &*step {
                "data" => entity.data(),
                "summaries" => {
                    let key = steps.next()?;
                    let summary = entity.summaries().iter().find(|summary| *summary.key == *key)?;
                    let levels = (steps.next()? == "levels").then_some(&summary.levels)?;
                    let level: usize = steps.next()?.parse().ok()?;
                    levels.get(level).copied()
                }
                container => {
                    let mut children = entity.children().iter().copied();
                    let inner =
                        children.clone().find(|&child| self[child].link == Link::Inner(known(container)));
                    at = match inner {
                        Some(inner) => inner,
                        None => {
                            let name = steps.next()?;
                            children.find(|&child| {
                                matches!(&self[child].link, Link::Member { container: holder, name: own }
                                    if *holder == container && **own == *name)
                            })?
                        }
                    };
                    continue;
                }
            };
            return stream.filter(|_| steps.next().is_none()).map(Target::Stream);
        }
        Some(Target::Entity(at))
    }
}

/// The key of an inner entity as the links hold it.
fn known(key: &str) -> &'static str {
    match key {
        "child" => "child",
        "inner" => "inner",
        _ => "",
    }
}

fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') { token.replace("~1", "/").replace("~0", "~").into() } else { token.into() }
}

fn write_token(f: &mut fmt::Formatter<'_>, token: &str) -> fmt::Result {
    f.write_str("/")?;
    token.chars().try_for_each(|c| match c {
        '~' => f.write_str("~0"),
        '/' => f.write_str("~1"),
        _ => fmt::Write::write_char(f, c),
    })
}

/// Displays the JSON pointer of an entity.
#[derive(Clone, Copy, Debug)]
pub struct EntityPointer<'a> {
    schema: &'a Schema,
    entity: EntityId,
}

impl fmt::Display for EntityPointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entity = &self.schema[self.entity];
        if let Some(parent) = entity.parent() {
            write!(f, "{}", self.schema.entity_pointer(parent))?;
        }
        match entity.link() {
            Link::Root => f.write_str("/entity"),
            Link::Inner(key) => write_token(f, key),
            Link::Member { container, name } => {
                write_token(f, container)?;
                write_token(f, name)
            }
        }
    }
}

/// Displays the JSON pointer of a stream descriptor.
#[derive(Clone, Copy, Debug)]
pub struct StreamPointer<'a> {
    schema: &'a Schema,
    stream: StreamId,
}

impl fmt::Display for StreamPointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stream = &self.schema[self.stream];
        write!(f, "{}", self.schema.entity_pointer(stream.entity()))?;
        match stream.role() {
            Role::Data => f.write_str("/data"),
            Role::Level { summary, level } => {
                f.write_str("/summaries")?;
                let summary = self.schema[stream.entity()].summaries().get(summary as usize);
                write_token(f, summary.map_or("", |summary| &summary.key))?;
                write!(f, "/levels/{level}")
            }
        }
    }
}

/// Displays the path of names of an entity.
#[derive(Clone, Copy, Debug)]
pub struct EntityPath<'a> {
    schema: &'a Schema,
    entity: EntityId,
}

impl fmt::Display for EntityPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entity = &self.schema[self.entity];
        let step = match entity.link() {
            Link::Root => return Ok(()),
            Link::Inner(key) => key,
            Link::Member { name, .. } => &**name,
        };
        match entity.parent() {
            Some(parent) if self.schema[parent].parent().is_some() => {
                write!(f, "{}/{step}", self.schema.entity_path(parent))
            }
            _ => f.write_str(step),
        }
    }
}
