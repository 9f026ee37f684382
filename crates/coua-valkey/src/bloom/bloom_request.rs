//! Options for a new Bloom filter: from the words of a command, and to the words with which
//! replicas build the same filter.

use crate::error::CommandError;
use crate::parse::{ArgumentList, Options, integer, once, real};
use crate::settings;
use crate::value::Defaults;

/// The largest EXPANSION.
pub(super) const MOST_EXPANSION: u32 = 32_768;

/// The options of a command.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct BloomRequest {
    rate: Option<f64>,
    capacity: Option<u64>,
    expansion: Option<u32>,
    non_scaling: Option<()>,
    hash_key: Option<[u8; 16]>,
    scale_to: Option<u64>,
}

/// A filter, described to the last bit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BloomSpec {
    /// Items that the first filter of the chain holds.
    pub(super) capacity: u64,
    /// The false-positive rate.
    pub(super) rate: f64,
    /// The ratio of each filter's capacity to the one before; `None` if the chain does not grow.
    pub(super) expansion: Option<u32>,
    /// The key of the hash.
    pub(super) hash_key: [u8; 16],
}

impl BloomRequest {
    /// Parses the words after the key of BF.RESERVE.
    pub(crate) fn of_reserve(words: &[&[u8]]) -> Result<Self, CommandError> {
        let &[rate, capacity, ref rest @ ..] = words else { return Err(CommandError::Arity) };
        let mut request = Self {
            rate: Some(rate_of(rate)?),
            capacity: Some(capacity_of(capacity)?),
            ..Self::default()
        };
        let mut options = Options::new(rest);
        while let Some(option) = options.keyword(&["EXPANSION", "NONSCALING", "SEED"])? {
            request.take(option, &mut options)?;
        }
        // BF.INSERT accepts this, as RedisBloom does.
        let grows = request.expansion.is_some_and(|expansion| expansion > 0);
        if grows && request.non_scaling.is_some() {
            return Err(CommandError::NonScalingExpansion);
        }
        Ok(request)
    }

    /// Takes an option for a new filter.
    pub(super) fn take(
        &mut self,
        option: &'static str,
        options: &mut Options<'_>,
    ) -> Result<(), CommandError> {
        match option {
            "NONSCALING" => once(&mut self.non_scaling, option, ()),
            "ERROR" => once(&mut self.rate, option, rate_of(options.value()?)?),
            "CAPACITY" => once(&mut self.capacity, option, capacity_of(options.value()?)?),
            "EXPANSION" => {
                let expansion = integer(options.value()?);
                let expansion = expansion.and_then(|number| u32::try_from(number).ok());
                let expansion = expansion.filter(|&number| number <= MOST_EXPANSION);
                once(&mut self.expansion, option, expansion.ok_or(CommandError::BloomExpansion)?)
            }
            "SEED" => once(&mut self.hash_key, option, options.hash_key()?),
            _ => {
                let items = integer(options.value()?).filter(|&items| items > 0);
                let items = items.ok_or(CommandError::NotANumber("VALIDATESCALETO"))?;
                once(&mut self.scale_to, option, items.unsigned_abs())
            }
        }
    }

    /// The number of items to which the filter must be able to grow.
    pub(super) fn scale_to(&self) -> Option<u64> {
        self.scale_to
    }

    /// Completes the options with defaults; `random` is the key of the hash unless one is given.
    pub(super) fn complete(
        &self,
        random: [u8; 16],
        defaults: Defaults,
    ) -> Result<BloomSpec, CommandError> {
        let capacity = settings::BF_INITIAL_SIZE.value().unsigned_abs();
        let by_default = match defaults {
            Defaults::Settings => settings::BF_EXPANSION_FACTOR.value(),
            Defaults::BuiltIn => settings::BF_EXPANSION_FACTOR.default,
        };
        let by_default = u32::try_from(by_default).unwrap_or(0);
        let expansion = self.expansion.unwrap_or(by_default);
        // An expansion of 0 means NONSCALING, which another EXPANSION does not
        // override.
        let expansion = Some(expansion).filter(|&by| by > 0 && self.non_scaling.is_none());
        if expansion.is_none() && self.scale_to.is_some() {
            return Err(CommandError::Contradiction("NONSCALING", "VALIDATESCALETO"));
        }
        Ok(BloomSpec {
            capacity: self.capacity.unwrap_or(capacity),
            rate: self.rate.unwrap_or(settings::BF_ERROR_RATE.value()),
            expansion,
            hash_key: self.hash_key.unwrap_or(random),
        })
    }
}

impl BloomSpec {
    /// The words after the key with which BF.RESERVE builds the same filter on any server.
    pub(super) fn arguments(&self) -> ArgumentList {
        let mut words = ArgumentList::new();
        words.push(self.rate).push(self.capacity);
        match self.expansion {
            None => {
                words.push("NONSCALING");
            }
            // Each word takes the server time.
            Some(by) if i64::from(by) == settings::BF_EXPANSION_FACTOR.default => {}
            Some(by) => {
                words.push("EXPANSION").push(by);
            }
        }
        words.push("SEED").push_key(self.hash_key);
        words
    }
}

fn rate_of(word: &[u8]) -> Result<f64, CommandError> {
    let rate = real(word).ok_or(CommandError::BloomRate)?;
    if rate > 0.0 && rate < 1.0 { Ok(rate) } else { Err(CommandError::BloomRateRange) }
}

fn capacity_of(word: &[u8]) -> Result<u64, CommandError> {
    let capacity = integer(word).ok_or(CommandError::BloomCapacity)?;
    if capacity <= 0 {
        return Err(CommandError::BloomCapacityRange);
    }
    if capacity > settings::MOST_CAPACITY {
        Err(CommandError::BloomCapacity)
    } else {
        Ok(capacity.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<BloomSpec, CommandError> {
        let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        BloomRequest::of_reserve(&words)?.complete(*b"sixteen letters!", Defaults::BuiltIn)
    }

    #[test]
    fn the_words_for_replicas_describe_the_same_filter() {
        for text in ["0.01 100", "1e-7 1000000 EXPANSION 4", "0.3 5 nonscaling"] {
            let spec = of(text).unwrap();
            let words = spec.arguments();
            let request = BloomRequest::of_reserve(&words.iter().collect::<Vec<_>>()).unwrap();
            assert_eq!(request.complete([0; 16], Defaults::BuiltIn), Ok(spec), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        for (text, refusal) in [
            ("0.01", CommandError::Arity),
            ("x 100", CommandError::BloomRate),
            ("1 100", CommandError::BloomRateRange),
            ("0.01 x", CommandError::BloomCapacity),
            ("0.01 0", CommandError::BloomCapacityRange),
            ("0.01 100 EXPANSION 32769", CommandError::BloomExpansion),
            ("0.01 100 EXPANSION 2 NONSCALING", CommandError::NonScalingExpansion),
            ("0.01 100 FOO", CommandError::unknown(b"FOO")),
            ("0.01 100 EXPANSION", CommandError::Arity),
        ] {
            assert_eq!(of(text), Err(refusal), "{text}");
        }
    }
}
