//! Maps by numbers that come in runs, such as those of files: neighbours lie side by side, and a small index finds them.

/// Numbers of a row.
const ROW: u32 = 32;
/// Rows of a shelf.
const SHELF: u32 = 1024;

/// A row of neighbours.
struct Row<T> {
    taken: u32,
    cells: [Option<T>; ROW as usize],
}

/// Map by number, in order.
pub(crate) struct Rows<T> {
    /// Up to the highest number so far: shelves stay, rows go when they are empty.
    shelves: Vec<Vec<Option<Box<Row<T>>>>>,
}

impl<T> Default for Rows<T> {
    fn default() -> Rows<T> {
        Rows { shelves: Vec::new() }
    }
}

/// Shelf of a number, place of its row there, and its own in the row.
#[inline]
fn place(number: u32) -> (usize, usize, usize) {
    let row = number / ROW;
    ((row / SHELF) as usize, (row % SHELF) as usize, (number % ROW) as usize)
}

impl<T> Rows<T> {
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let (shelf, row, cell) = place(number);
        self.shelves.get(shelf)?.get(row)?.as_ref()?.cells[cell].as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let (shelf, row, cell) = place(number);
        self.shelves.get_mut(shelf)?.get_mut(row)?.as_mut()?.cells[cell].as_mut()
    }

    #[inline]
    pub fn contains(&self, number: u32) -> bool {
        self.get(number).is_some()
    }

    /// What was there before.
    pub fn insert(&mut self, number: u32, value: T) -> Option<T> {
        let (shelf, row, cell) = place(number);
        if self.shelves.len() <= shelf {
            self.shelves.resize_with(shelf + 1, Vec::new);
        }
        let shelf = &mut self.shelves[shelf];
        if shelf.is_empty() {
            shelf.resize_with(SHELF as usize, || None);
        }
        let row = shelf[row].get_or_insert_with(|| Box::new(Row { taken: 0, cells: [const { None }; ROW as usize] }));
        let before = row.cells[cell].replace(value);
        row.taken += u32::from(before.is_none());
        before
    }

    pub fn remove(&mut self, number: u32) -> Option<T> {
        let (shelf, row, cell) = place(number);
        let place = self.shelves.get_mut(shelf)?.get_mut(row)?;
        let row = place.as_mut()?;
        let gone = row.cells[cell].take()?;
        row.taken -= 1;
        if row.taken == 0 {
            *place = None;
        }
        Some(gone)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.shelves.iter_mut().flatten().flatten().flat_map(|row| row.cells.iter_mut().flatten())
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let rows = self.shelves.iter().zip(0..).flat_map(|(shelf, number)| {
            shelf.iter().zip(number * SHELF..).filter_map(|(row, number)| Some((row.as_ref()?, number)))
        });
        rows.flat_map(|(row, number)| {
            let numbered = (0..ROW).zip(&row.cells);
            numbered.filter_map(move |(place, cell)| Some((number * ROW + place, cell.as_ref()?)))
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

    fn count(rows: &Rows<char>) -> usize {
        rows.shelves.iter().flatten().flatten().count()
    }

    #[test]
    fn neighbours_share_a_row_that_goes_with_the_last_of_them() {
        let mut rows = Rows::default();
        assert_eq!((rows.insert(31, 'a'), rows.insert(32, 'b'), rows.insert(u32::MAX, 'c')), (None, None, None));
        assert_eq!((rows.insert(32, 'd'), count(&rows)), (Some('b'), 3));
        assert_eq!((rows.get(31), rows.get(30), rows[u32::MAX]), (Some(&'a'), None, 'c'));
        assert_eq!(rows.iter().collect::<Vec<_>>(), [(31, &'a'), (32, &'d'), (u32::MAX, &'c')]);
        assert_eq!((rows.remove(32), rows.remove(32), count(&rows)), (Some('d'), None, 2));
        *rows.get_mut(31).unwrap() = 'e';
        assert!(rows.contains(31) && rows[31] == 'e');
    }
}
