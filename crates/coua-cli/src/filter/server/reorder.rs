//! Answers in the order of the requests, where a server has done them in another.
//!
//! Many commands are on the way at once. One that is refused for now, or has to go to another node, is sent
//! again, and done after those that were sent after it: these have overtaken it. Of equal keys the first one
//! is to get the 1 ("inserted", "removed"), and the server has given it to a later one.

use super::connection::Request;
use redis::Value;
use std::collections::{HashMap, VecDeque};

/// Gives the request what `later` ones have got in its place. It was refused, and now is answered; what
/// was sent after it and is answered has overtaken it.
pub(super) fn fix_duplicates(request: &mut Request, later: &mut [Request]) {
    let has_keys = |other: &&mut Request| other.slot == request.slot && other.first_key.is_some();
    let mut later: Vec<&mut Request> = later.iter_mut().filter(has_keys).collect();
    let keys = request.keys();
    if keys.is_empty() {
        return;
    }
    // It may have been overtaken by one that was done, and whose answer was lost.
    request.in_doubt |= later.iter().any(|other| other.in_doubt);
    let mut without: HashMap<Vec<u8>, VecDeque<usize>> = HashMap::new();
    for (place, (key, number)) in keys.into_iter().zip(request.numbers()).enumerate() {
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
                request.numbers()[place] = Value::Int(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(slot: u16, keys: &str, numbers: &[i64]) -> Request {
        let mut command = redis::cmd("CF.INSERTNX");
        command.arg("s").arg(keys.split(' ').collect::<Vec<_>>());
        let mut request = Request::new(slot, command.get_packed_command());
        request.first_key = Some(2);
        let numbers: Vec<_> = numbers.iter().map(|number| Value::Int(*number)).collect();
        request.reply =
            Some(numbers).filter(|some| !some.is_empty()).map(|some| Ok(Value::Array(some)));
        request
    }

    fn numbers(request: &mut Request) -> Vec<i64> {
        let number = |value: &Value| if let Value::Int(number) = value { *number } else { 9 };
        request.numbers().iter().map(number).collect()
    }

    #[test]
    fn ones_go_to_the_first_of_equal_keys() {
        let mut first = request(1, "a b c a d", &[0, 0, 1, 0, 0]);
        let mut later = [
            request(1, "x a d", &[1, 1, 0]),
            request(2, "b", &[1]),
            request(1, "d", &[]),
            request(1, "a d d", &[1, 1, -1]),
        ];
        fix_duplicates(&mut first, &mut later);
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
        let mut later = [request(1, "a", &[])];
        later[0].in_doubt = true;
        for (slot, doubt) in [(2, false), (1, true)] {
            let mut first = request(slot, "a", &[0]);
            fix_duplicates(&mut first, &mut later);
            assert_eq!(first.in_doubt, doubt);
        }
    }

    #[test]
    fn strange_replies_stay_as_they_are() {
        let strange = Some(Ok(Value::Okay));
        let mut first = request(1, "a b", &[0]);
        let mut later = [request(1, "a", &[1, 1]), request(1, "b", &[1])];
        later[1].reply.clone_from(&strange);
        fix_duplicates(&mut first, &mut later);
        assert_eq!((numbers(&mut first), numbers(&mut later[0])), (vec![1], vec![0, 1]));
        first.reply.clone_from(&strange);
        fix_duplicates(&mut first, &mut later);
        assert_eq!(first.reply, strange);
    }
}
