//! Maps by numbers that come in runs, such as those of files: neighbours lie side by side, and one look at a small index finds them.

use foldhash::HashMap;

/// Numbers of a row.
const ROW: u32 = 32;

/// A row of neighbours.
struct Row<T> {
    taken: u32,
    cells: [Option<T>; ROW as usize],
}

/// Map by number. Rows are hashed, so whoever goes through all of it sorts the numbers first.
pub(crate) struct Rows<T> {
    rows: HashMap<u32, Box<Row<T>>>,
}

impl<T> Default for Rows<T> {
    fn default() -> Rows<T> {
        Rows { rows: HashMap::default() }
    }
}

impl<T> Rows<T> {
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.rows.get(&(number / ROW))?.cells[(number % ROW) as usize].as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.rows.get_mut(&(number / ROW))?.cells[(number % ROW) as usize].as_mut()
    }

    #[inline]
    pub fn contains(&self, number: u32) -> bool {
        self.get(number).is_some()
    }

    /// What was there before.
    pub fn insert(&mut self, number: u32, value: T) -> Option<T> {
        let new = || Box::new(Row { taken: 0, cells: [const { None }; ROW as usize] });
        let row = self.rows.entry(number / ROW).or_insert_with(new);
        let before = row.cells[(number % ROW) as usize].replace(value);
        row.taken += u32::from(before.is_none());
        before
    }

    pub fn remove(&mut self, number: u32) -> Option<T> {
        let row = self.rows.get_mut(&(number / ROW))?;
        let gone = row.cells[(number % ROW) as usize].take()?;
        row.taken -= 1;
        if row.taken == 0 {
            self.rows.remove(&(number / ROW));
        }
        Some(gone)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.rows.iter().flat_map(|(&row, of)| {
            let numbered = (0..ROW).zip(&of.cells);
            numbered.filter_map(move |(place, cell)| Some((row * ROW + place, cell.as_ref()?)))
        })
    }
}

impl<T> FromIterator<(u32, T)> for Rows<T> {
    fn from_iter<I: IntoIterator<Item = (u32, T)>>(from: I) -> Rows<T> {
        let mut rows = Rows::default();
        from.into_iter().for_each(|(number, value)| drop(rows.insert(number, value)));
        rows
    }
}

#[cfg(test)]
impl<T> std::ops::Index<u32> for Rows<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        self.get(number).expect("a number that is in the map")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_row_that_goes_with_the_last_of_them() {
        let mut rows = Rows::default();
        assert_eq!((rows.insert(31, 'a'), rows.insert(32, 'b'), rows.insert(u32::MAX, 'c')), (None, None, None));
        assert_eq!((rows.insert(32, 'd'), rows.rows.len()), (Some('b'), 3));
        assert_eq!((rows.get(31), rows.get(30), rows[u32::MAX]), (Some(&'a'), None, 'c'));
        let mut all: Vec<_> = rows.iter().collect();
        all.sort_unstable();
        assert_eq!(all, [(31, &'a'), (32, &'d'), (u32::MAX, &'c')]);
        assert_eq!((rows.remove(32), rows.remove(32), rows.rows.len()), (Some('d'), None, 2));
        *rows.get_mut(31).unwrap() = 'e';
        assert!(rows.contains(31) && rows[31] == 'e');
    }
}
