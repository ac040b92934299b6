//! The last few of something, in memory that is taken once and used again.

/// The last `size_max` items.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: Vec<T>,
    size_max: usize,
    /// Where the oldest is, once the ring is full.
    oldest: usize,
}

impl<T> Ring<T> {
    /// None so far, and never more than so many. Memory is taken with the first.
    pub fn new(size_max: usize) -> Ring<T> {
        Ring {
            items: Vec::new(),
            size_max,
            oldest: 0,
        }
    }

    /// Adds one, in place of the oldest if there are as many as there may be.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.items.len() < self.size_max {
            if self.items.is_empty() {
                self.items.reserve_exact(self.size_max);
            }
            self.items.push(item);
        } else if let Some(oldest) = self.items.get_mut(self.oldest) {
            *oldest = item;
            self.oldest = (self.oldest + 1) % self.size_max;
        }
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let (behind, first) = self.items.split_at(self.oldest);
        first.iter().chain(behind)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.items.clear();
        self.oldest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept_in_order() {
        let mut ring = Ring::new(3);
        (1..=7).for_each(|n| ring.push(n));
        assert_eq!(ring.iter().copied().collect::<Vec<_>>(), [5, 6, 7]);
        ring.clear();
        ring.push(8);
        assert_eq!(ring.iter().copied().collect::<Vec<_>>(), [8]);
        let mut none = Ring::new(0);
        none.push(1);
        assert_eq!(none.iter().count(), 0);
    }
}
