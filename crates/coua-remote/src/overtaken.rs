//! Answers in the order of the questions, where a server has done them in another.
//!
//! Many commands are on the way at once. One that is refused for now, or has to go to another node, is sent
//! again, and done after those that were sent after it: these have overtaken it. Of equal keys the first one
//! is to get the 1 ("inserted", "removed"), and the server has given it to a later one.

use crate::order::Order;
use redis::Value;
use std::collections::{HashMap, VecDeque};

/// Gives the order what `later` ones have got in its place. It was refused, and now is answered; what
/// was sent after it and is answered has overtaken it.
pub(crate) fn put_right(order: &mut Order, later: &mut [Order]) {
    let has_keys = |other: &&mut Order| other.slot == order.slot && other.first_key.is_some();
    let mut later: Vec<&mut Order> = later.iter_mut().filter(has_keys).collect();
    let keys = order.keys();
    if keys.is_empty() {
        return;
    }
    // It may have been overtaken by one that was done, and whose answer was lost.
    order.in_doubt |= later.iter().any(|other| other.in_doubt);
    let mut without: HashMap<Vec<u8>, VecDeque<usize>> = HashMap::new();
    for (place, (key, number)) in keys.into_iter().zip(order.numbers()).enumerate() {
        if *number == Value::Int(0) {
            without.entry(key).or_default().push_back(place);
        }
    }
    for other in later.iter_mut().rev().filter(|other| other.reply.is_some()) {
        for (key, theirs) in other.keys().iter().zip(other.numbers()).rev() {
            if *theirs == Value::Int(1)
                && let Some(place) = without.get_mut(key).and_then(VecDeque::pop_front)
            {
                *theirs = Value::Int(0);
                order.numbers()[place] = Value::Int(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(slot: u16, keys: &str, numbers: &[i64]) -> Order {
        let mut command = redis::cmd("CF.INSERTNX");
        command.arg("s").arg(keys.split(' ').collect::<Vec<_>>());
        let mut order = Order::new(slot, command.get_packed_command());
        order.first_key = Some(2);
        let numbers: Vec<_> = numbers.iter().map(|number| Value::Int(*number)).collect();
        order.reply =
            Some(numbers).filter(|some| !some.is_empty()).map(|some| Ok(Value::Array(some)));
        order
    }

    fn numbers(order: &mut Order) -> Vec<i64> {
        let number = |value: &Value| if let Value::Int(number) = value { *number } else { 9 };
        order.numbers().iter().map(number).collect()
    }

    #[test]
    fn ones_go_to_the_first_of_equal_keys() {
        let mut first = order(1, "a b c a d", &[0, 0, 1, 0, 0]);
        let mut later = [
            order(1, "x a d", &[1, 1, 0]),
            order(2, "b", &[1]),
            order(1, "d", &[]),
            order(1, "a d d", &[1, 1, -1]),
        ];
        put_right(&mut first, &mut later);
        assert_eq!(numbers(&mut first), [1, 0, 1, 1, 1]);
        let [same, other, open, last] = &mut later;
        assert_eq!(numbers(same), [1, 0, 0]);
        assert_eq!(numbers(other), [1], "keys of another shard");
        assert_eq!(numbers(open), [0; 0]);
        assert_eq!(numbers(last), [0, 0, -1]);
        assert!(!first.in_doubt);
    }

    #[test]
    fn who_was_overtaken_by_one_in_doubt_is_in_doubt() {
        let mut later = [order(1, "a", &[])];
        later[0].in_doubt = true;
        for (slot, doubt) in [(2, false), (1, true)] {
            let mut first = order(slot, "a", &[0]);
            put_right(&mut first, &mut later);
            assert_eq!(first.in_doubt, doubt);
        }
    }

    #[test]
    fn strange_replies_stay_as_they_are() {
        let strange = Some(Ok(Value::Okay));
        let mut first = order(1, "a b", &[0]);
        let mut later = [order(1, "a", &[1, 1]), order(1, "b", &[1])];
        later[1].reply.clone_from(&strange);
        put_right(&mut first, &mut later);
        assert_eq!((numbers(&mut first), numbers(&mut later[0])), (vec![1], vec![0, 1]));
        first.reply.clone_from(&strange);
        put_right(&mut first, &mut later);
        assert_eq!(first.reply, strange);
    }
}
